// Plants: rings around an axis, one shape for each kind.

struct Crown {
    @builtin(position) position: vec4f,
    @location(0) colour: vec3f,
}

@vertex
fn plant(
    // Cosine and sine, height and width as shares of the plant's.
    @location(0) ring: vec4f,
    // The decrease of the width with height there, in those shares.
    @location(1) taper: f32,
    // The position of its foot; half the width of its crown.
    @location(2) foot: vec4f,
    // Height; a number of the plant itself, 0 to 1.
    @location(3) size: vec2f,
    @location(4) tint: vec4f,
) -> Crown {
    let stand = vec3f(foot.xy, foot.z * scene.rise.x);
    let from_eye = stand - scene.eye.xyz;
    let far = select(dot(from_eye, scene.forward.xyz), 1.0, scene.sun.w > 0.5);
    // Plants far smaller than a pixel are thinned out and the others widened, so that a distant wood keeps its cover.
    let wide = max(0.7 * far * scene.picture.z / foot.w, 1.0) * scene.half.w;
    let there = f32(size.y * wide * wide <= 1.0);
    let radius = foot.w * wide * there;
    let height = size.x * min(wide, 1.5) * scene.half.z * there;
    let seen = from_eye + vec3f(ring.xy * ring.w * radius, ring.z * height);
    let slope = taper * radius / max(height, 1e-3);
    let normal = vec3f(ring.xy, slope) / sqrt(1.0 + slope * slope);
    let light = (0.50 + 1.25 * max(dot(normal, scene.sun.xyz), 0.0) + 0.45 * max(normal.z, 0.0)) * (0.6 + 0.6 * ring.z);
    let colour = mix(tint.rgb * tint.rgb * light, HORIZON, haze(seen));
    return Crown(scene.clip * vec4f(seen, 1.0), encode(colour));
}

@fragment
fn plant_colour(in: Crown) -> @location(0) vec4f {
    return vec4f(in.colour, 1.0);
}
