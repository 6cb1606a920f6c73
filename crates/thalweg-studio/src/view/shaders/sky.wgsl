// The background of the land: air, and paper with the block's soft shadow on it.

struct Sky {
    @builtin(position) position: vec4f,
    @location(0) ray: vec3f,
    @location(1) screen: f32,
}

@vertex
fn sky_all(@builtin(vertex_index) v: u32) -> Sky {
    let at = vec2f(f32(v & 1u) * 4.0 - 1.0, f32(v >> 1u) * 4.0 - 1.0);
    let ray = scene.forward.xyz + at.x * scene.right.xyz + at.y * scene.up.xyz;
    return Sky(vec4f(at, 0.0, 1.0), ray, 0.5 - 0.5 * at.y);
}

@fragment
fn sky_colour(in: Sky) -> @location(0) vec4f {
    if scene.sun.w > 0.5 {
        return vec4f(encode(PAPER), 1.0);
    }
    let ray = normalize(in.ray);
    var colour = sky(ray.z);
    // Seen from above, the paper pales towards the viewer.
    colour = mix(colour, mix(HORIZON, PAPER, smoothstep(0.0, 0.9, in.screen)), smoothstep(0.0, 0.3, -ray.z));
    let fall = scene.rise.y - scene.eye.z;
    if scene.air.w > 0.5 && ray.z < -1e-4 && fall < 0.0 {
        let at = scene.eye.xy + ray.xy * (fall / ray.z);
        let blur = 0.05 * scene.picture.w;
        let beyond = max(abs(at + scene.sun.xy * blur) - scene.half.xy, vec2f(0.0)) / blur;
        let thin = 1.0 + dot(beyond, beyond);
        colour *= 1.0 - 0.5 / (thin * thin);
    }
    return vec4f(encode(colour), 1.0);
}
