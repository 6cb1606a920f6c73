// Dots and lines over the land. Their width in pixels does not depend on their distance.

struct Mark {
    @builtin(position) position: vec4f,
    @location(0) colour: vec4f,
    // Across and along in half widths; ends of a dot are at 1.
    @location(1) at: vec2f,
    @location(2) half: f32,
}

// Returns a position slightly nearer to the eye, so that the ground there does not hide the mark.
fn lifted(clip: vec4f) -> vec4f {
    return vec4f(clip.xy, clip.z + select(0.004 * clip.z, 2e-5, scene.sun.w > 0.5), clip.w);
}

@vertex
fn dot_at(@builtin(vertex_index) v: u32, @location(0) place: vec4f, @location(1) colour: vec4f) -> Mark {
    let corner = vec2f(f32(v & 1u), f32(v >> 1u)) * 2.0 - 1.0;
    let half = 0.5 * place.w;
    let clip = lifted(scene.clip * vec4f(place.xyz - scene.eye.xyz, 1.0));
    let reach = (half + 0.5) * 2.0 / scene.picture.xy;
    return Mark(vec4f(clip.xy + corner * reach * clip.w, clip.zw), colour, corner * (half + 0.5), half);
}

@fragment
fn dot_colour(in: Mark) -> @location(0) vec4f {
    let cover = clamp(in.half + 0.5 - length(in.at), 0.0, 1.0);
    return vec4f(in.colour.rgb, in.colour.a * cover);
}

@vertex
fn line_at(
    @builtin(vertex_index) v: u32,
    @location(0) from_at: vec4f,
    @location(1) to_at: vec4f,
    @location(2) colour: vec4f,
) -> Mark {
    var from_clip = scene.clip * vec4f(from_at.xyz - scene.eye.xyz, 1.0);
    var to_clip = scene.clip * vec4f(to_at.xyz - scene.eye.xyz, 1.0);
    // The part behind the eye is cut off just in front of it.
    let least = 1e-3 * max(abs(from_clip.w), abs(to_clip.w)) + 1e-6;
    let a = from_clip;
    let b = to_clip;
    if a.w < least && b.w > least {
        from_clip = mix(a, b, (least - a.w) / (b.w - a.w));
    }
    if b.w < least && a.w > least {
        to_clip = mix(b, a, (least - b.w) / (a.w - b.w));
    }
    let pixels = 0.5 * scene.picture.xy;
    let along = (to_clip.xy / to_clip.w - from_clip.xy / from_clip.w) * pixels;
    let long = length(along);
    let way = select(vec2f(1.0, 0.0), along / max(long, 1e-6), long > 1e-6);
    let half = 0.5 * from_at.w;
    let across = f32(v & 1u) * 2.0 - 1.0;
    let end = f32(v >> 1u);
    let off = (vec2f(-way.y, way.x) * across + way * (end * 2.0 - 1.0) * 0.5) * (half + 0.5) / pixels;
    var clip = from_clip;
    if end > 0.5 {
        clip = to_clip;
    }
    clip = lifted(clip);
    return Mark(vec4f(clip.xy + off * clip.w, clip.zw), colour, vec2f(across * (half + 0.5), 0.0), half);
}
