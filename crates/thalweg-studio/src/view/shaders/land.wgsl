// The land: one patch of quads, drawn over it at the size that the distance requires.

@group(1) @binding(0) var ground_at: texture_2d<f32>;
@group(1) @binding(1) var level_at: texture_2d<f32>;
@group(1) @binding(2) var dry_at: texture_2d<f32>;
@group(1) @binding(3) var wet_at: texture_2d<f32>;
@group(1) @binding(4) var smooth_at: sampler;

// True if parts are not drawn: cells without data, or the area that another shot shows.
override holes: bool = false;

struct Corner {
    // Sample, eastward and southward, with parts.
    sample: vec2f,
    // Height of the surface and of the ground under it, exaggerated.
    top: f32,
    ground: f32,
}

// Heights at a whole sample: surface and ground.
fn heights(sample: vec2f) -> vec2f {
    let at = vec2i(sample);
    let ground = textureLoad(ground_at, at, 0).r;
    var top = ground;
    if scene.rise.w > 0.5 {
        top = max(max(ground, textureLoad(level_at, at, 0).r), scene.rise.z);
    }
    return vec2f(top, ground) * scene.rise.x;
}

// A corner of a patch (first column and row, samples to a quad, distance at which the next coarser one follows): with
// distance every other corner moves to its even neighbour, so that no seam is visible where sizes change.
fn corner(patch_at: vec4f, quad: vec2f) -> Corner {
    let last = scene.grid.xy - 1.0;
    let here = min(patch_at.xy + quad * patch_at.z, last);
    let even = min(patch_at.xy + floor(quad * 0.5) * 2.0 * patch_at.z, last);
    let far = length(vec3f(place(here) - scene.eye.xy, scene.eye.w));
    let moved = clamp((far / patch_at.w - 0.65) / 0.33, 0.0, 1.0);
    let height = mix(heights(here), heights(even), moved);
    return Corner(mix(here, even, moved), height.x, height.y);
}

struct Land {
    @builtin(position) position: vec4f,
    @location(0) uv: vec2f,
    @location(1) seen: vec3f,
    @location(2) haze: f32,
}

@vertex
fn land(@builtin(vertex_index) v: u32, @location(0) patch_at: vec4f) -> Land {
    let corner = corner(patch_at, vec2f(f32(v % 17u), f32(v / 17u)));
    let seen = vec3f(place(corner.sample), corner.top) - scene.eye.xyz;
    return Land(scene.clip * vec4f(seen, 1.0), (corner.sample + 0.5) / scene.grid.xy, seen, haze(seen));
}

@fragment
fn land_colour(in: Land) -> @location(0) vec4f {
    let dry = textureSample(dry_at, smooth_at, in.uv);
    let wet = textureSample(wet_at, smooth_at, in.uv);
    let texels = fwidth(in.uv) * scene.grid.xy;
    let width = fwidth(wet.a);
    if holes {
        let last = vec2i(scene.grid.xy) - 1;
        let at = clamp(vec2i(in.uv * scene.grid.xy - 0.5), vec2i(0), max(last - 1, vec2i(0)));
        var lowest = textureLoad(level_at, at, 0).r;
        lowest = min(lowest, textureLoad(level_at, min(at + vec2i(1, 0), last), 0).r);
        lowest = min(lowest, textureLoad(level_at, min(at + vec2i(0, 1), last), 0).r);
        lowest = min(lowest, textureLoad(level_at, min(at + vec2i(1, 1), last), 0).r);
        let place = in.seen.xy + scene.eye.xy;
        if lowest < HOLE || (all(place > scene.hole.xy) && all(place < scene.hole.zw)) {
            discard;
        }
    }
    var colour = dry.rgb;
    if wet.a > 0.0 {
        // At close range, the shore is a line between the samples instead of a blur of their width.
        let sharp = clamp((wet.a - 0.5) / max(width, 1e-3) + 0.5, 0.0, 1.0);
        let share = mix(sharp, wet.a, smoothstep(0.4, 1.0, max(texels.x, texels.y)));
        let steep = select(clamp(-normalize(in.seen).z, 0.0, 1.0), 1.0, scene.sun.w > 0.5);
        let grazing = 1.0 - steep;
        let mirror = 0.02 + 0.72 * grazing * grazing * grazing * grazing * grazing;
        colour = mix(colour, mix(wet.rgb, HORIZON * dry.a, mirror), share);
    }
    return vec4f(encode(mix(colour, HORIZON, in.haze)), 1.0);
}

// The sides of the block: strips of water over strips of earth, under the patches along the rim.

struct Side {
    @builtin(position) position: vec4f,
    @location(0) colour: vec3f,
    // Metres below the ground and above the foot, as shares of the land's longer side; haze.
    @location(1) depth: vec3f,
}

@vertex
fn side(@builtin(vertex_index) v: u32, @location(0) patch_at: vec4f, @location(1) rim: u32) -> Side {
    let along = f32(v % 17u);
    let row = v / 17u;
    var quad = vec2f(along, 0.0);
    var facing = vec2f(0.0, 1.0);
    switch rim {
        case 1u: {
            quad = vec2f(16.0, along);
            facing = vec2f(1.0, 0.0);
        }
        case 2u: {
            quad = vec2f(along, 16.0);
            facing = vec2f(0.0, -1.0);
        }
        case 3u: {
            quad = vec2f(0.0, along);
            facing = vec2f(-1.0, 0.0);
        }
        default: {}
    }
    let corner = corner(patch_at, quad);
    let foot = scene.rise.y;
    var height = foot;
    var colour = EARTH_FOOT;
    switch row {
        case 0u: {
            height = corner.top;
            colour = WATER_TOP;
        }
        case 1u: {
            height = corner.ground;
            colour = WATER_FOOT;
        }
        case 2u: {
            height = corner.ground;
            colour = EARTH_TOP;
        }
        default: {}
    }
    let light = 0.72 + 0.38 * dot(facing, scene.sun.xy);
    let seen = vec3f(place(corner.sample), height) - scene.eye.xyz;
    let strata = select((corner.ground - height) / scene.picture.w, -1.0, row < 2u);
    return Side(
        scene.clip * vec4f(seen, 1.0),
        colour * light,
        vec3f(strata, (height - foot) / scene.picture.w, haze(seen)),
    );
}

@fragment
fn side_colour(in: Side) -> @location(0) vec4f {
    var colour = in.colour;
    if in.depth.x > 0.0 {
        // Beds of rock, level and of unequal thickness, under a rim of soil.
        let bed = in.depth.y * 150.0;
        let band = sin(bed) + 0.6 * sin(bed * 2.3 + 1.7) + 0.4 * sin(bed * 5.1 + 0.6);
        colour *= 1.0 + 0.045 * clamp(band, -1.0, 1.0);
        colour *= mix(0.72, 1.0, smoothstep(0.0, 0.0025, in.depth.x));
    }
    return vec4f(encode(mix(colour, HORIZON, in.depth.z)), 1.0);
}
