// The land's colours, computed once for each sample: dry ground in its light, and the water or ice that covers it.
// The lights and colours are those of the library's maps.

struct Paint {
    // Samples eastward and southward, sides of a sample in metres.
    grid: vec4f,
    // Towards the sun; factor on heights for the light.
    sun: vec4f,
    // Towards the two side lights; flags: shadows are drawn, steep ground is rock.
    left: vec4f,
    right: vec4f,
    // Heights of the ramp's ends, level of the sea, depth of its darkest blue.
    range: vec4f,
    // Height of the snow line, half the width of its belt, share of the land's own colours, cover of the overlay.
    snow: vec4f,
    // Flags: streams, sediment, the shadows of crowns and other water are drawn.
    shown: vec4f,
    // Rows of the ramps of land and sea; flag: the ground has its own colours.
    rows: vec4f,
}

@group(0) @binding(0) var<uniform> paint: Paint;
@group(0) @binding(1) var ground_at: texture_2d<f32>;
@group(0) @binding(2) var level_at: texture_2d<f32>;
@group(0) @binding(3) var light_at: texture_2d<f32>;
@group(0) @binding(4) var lines_at: texture_2d<f32>;
@group(0) @binding(5) var data_at: texture_2d<f32>;
@group(0) @binding(6) var ramp_at: texture_2d<f32>;

const ROCK = vec3f(0.270, 0.238, 0.210);
const SAND = vec3f(0.560, 0.470, 0.330);
const SNOW = vec3f(0.900, 0.930, 0.965);

struct Painted {
    // Dry ground; the light that remains for surfaces that reflect the sky.
    @location(0) dry: vec4f,
    // Water; its share.
    @location(1) wet: vec4f,
}

@vertex
fn all(@builtin(vertex_index) v: u32) -> @builtin(position) vec4f {
    return vec4f(f32(v & 1u) * 4.0 - 1.0, f32(v >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

fn ground(at: vec2i) -> f32 {
    return textureLoad(ground_at, at, 0).r;
}

// Rise per metre eastward and northward, after Horn (1981); one-sided at the rim.
fn gradient(at: vec2i) -> vec2f {
    let last = vec2i(paint.grid.xy) - 1;
    let low = max(at - 1, vec2i(0));
    let high = min(at + 1, last);
    let nw = ground(low);
    let ne = ground(vec2i(high.x, low.y));
    let sw = ground(vec2i(low.x, high.y));
    let se = ground(high);
    let n = ground(vec2i(at.x, low.y));
    let s = ground(vec2i(at.x, high.y));
    let w = ground(vec2i(low.x, at.y));
    let e = ground(vec2i(high.x, at.y));
    let span = vec2f(max(high - low, vec2i(1))) * 4.0 * paint.grid.zw;
    return vec2f(ne + 2.0 * e + se - nw - 2.0 * w - sw, nw + 2.0 * n + ne - sw - 2.0 * s - se) / span;
}

// Bends light over 0.8 towards 1, so that sunlit snow keeps its shape.
fn soften(colour: vec3f) -> vec3f {
    let over = max((colour - 0.8) / 0.2, vec3f(0.0));
    return min(colour, vec3f(0.8)) + 0.2 * over / (1.0 + over);
}

fn ramp(row: f32, t: f32) -> vec3f {
    return textureLoad(ramp_at, vec2i(i32(clamp(t, 0.0, 1.0) * 1023.0 + 0.5), i32(row)), 0).rgb;
}

@fragment
fn bake(@builtin(position) position: vec4f) -> Painted {
    let at = vec2i(position.xy);
    let height = ground(at);
    let level = textureLoad(level_at, at, 0).r;
    let light_here = textureLoad(light_at, at, 0);
    let lines = textureLoad(lines_at, at, 0);
    let slope = gradient(at);
    let steep = slope * paint.sun.w;
    let normal = normalize(vec3f(-steep, 1.0));

    let shadows = paint.left.w;
    let under = 1.0 - (1.0 - SHADE) * light_here.g * shadows;
    let open = mix(1.0, light_here.r, shadows);
    let flat_light = paint.sun.z;
    let sun = SUN * max(dot(normal, paint.sun.xyz), 0.0) / flat_light * under;
    let sides = max(dot(normal, paint.left.xyz), 0.0) + max(dot(normal, paint.right.xyz), 0.0);
    let side = SIDE * sides / (2.0 * flat_light);
    let sky = SKY * (0.5 + 0.5 * normal.z) * open * open;
    let crowns = mix(1.0, lines.g, paint.shown.z);
    let light = (sun * WARM + side + sky * (1.0 + (1.0 - WARM) * SUN / SKY)) * crowns;

    // The ground's own colour.
    let cliff = length(steep);
    var colour = ramp(paint.rows.x, (height - paint.range.x) / (paint.range.y - paint.range.x));
    let loose = light_here.b;
    colour = mix(colour, SAND * (0.55 + 0.45 * dot(colour, vec3f(0.3, 0.5, 0.2)) / 0.3), 0.34 * loose * paint.shown.y);
    let bare = smoothstep(1.1, 2.3, cliff) * (1.0 - 0.7 * loose * paint.shown.y) * paint.right.w;
    colour = mix(colour, ROCK, 0.62 * bare);
    // The snow line is lower on slopes that face away from the sun, and cliffs have no snow.
    let shade = 0.6 * paint.snow.y * dot(normal.xy, paint.sun.xy);
    let line = paint.snow.x + shade;
    let white = smoothstep(line - paint.snow.y, line + paint.snow.y, height) * (1.0 - smoothstep(1.3, 2.6, cliff));
    colour = mix(colour, SNOW, white);
    let natural = paint.rows.z > 0.5;
    if natural {
        // Albedo is darker than a tint by height, so it needs more light.
        colour = textureLoad(data_at, at, 0).rgb * 1.35;
    }
    colour = mix(vec3f(GREY), colour, paint.snow.z);
    var dry = colour * light;

    // Ice is white where it is gently sloping and blue where it breaks, and is also lit from inside.
    let broken = dot(steep, steep) / (dot(steep, steep) + BROKEN * BROKEN);
    let ice = mix(FIRN, BARE_ICE, broken) * mix(light, INSIDE, GLOW);
    dry = mix(dry, ice, lines.b * paint.shown.w * paint.snow.z);

    // Flowing water, and streams.
    let water = paint.shown.w;
    let film = ramp(paint.rows.y, 0.70) * mix(1.0, under, 0.6);
    dry = mix(dry, film, light_here.a * water);
    let shine = select(1.0, 0.5, natural);
    dry = mix(dry, STREAM * mix(1.0, under, 0.45) * shine, lines.r * paint.shown.x * shine);

    // Standing water; the shore is where its level intersects the slope of the ground.
    let across = slope * paint.grid.zw;
    let rise = max(length(across), 1e-6);
    let sea = paint.range.z;
    let pool = level - height;
    let sunk = sea - height;
    var share = 0.0;
    var wet = ramp(paint.rows.y, 0.6);
    let mirrored = 1.0 - SUN * (1.0 - under);
    if sunk > -rise && sunk >= pool {
        let depth = max(sunk, 0.0);
        share = clamp(0.5 + sunk / rise, 0.0, 1.0);
        let blue = ramp(paint.rows.y, 1.0 - sqrt(depth / paint.range.w));
        let foam = 0.42 * clamp(1.35 - depth / rise, 0.0, 1.0);
        wet = mix(blue * mix(vec3f(1.0), light, THROUGH), SHORE, foam);
    } else if pool > -rise * 4.0 && level > DRY_LEVEL {
        let depth = max(pool, 0.0);
        share = clamp(0.5 + pool / rise, 0.0, 1.0);
        let blue = ramp(paint.rows.y, 0.60 - 0.50 * depth / (depth + DARK)) * mirrored;
        wet = mix(mix(blue, SKYLIGHT * mirrored, 0.03), dry, SHALLOW / (1.0 + depth));
    }

    // Data over grey relief.
    let cover = paint.snow.w;
    if cover > 0.0 {
        let data = textureLoad(data_at, at, 0);
        dry = mix(dry, mix(vec3f(GREY), data.rgb, COVER * data.a) * light, cover);
        share *= 1.0 - cover;
    }
    return Painted(vec4f(soften(dry), mirrored), vec4f(soften(wet), share * water));
}

// Computes each coarser level of both textures from the one before.

@group(0) @binding(0) var finer_dry: texture_2d<f32>;
@group(0) @binding(1) var finer_wet: texture_2d<f32>;
@group(0) @binding(2) var half_way: sampler;

struct Halved {
    @builtin(position) position: vec4f,
    @location(0) uv: vec2f,
}

@vertex
fn halve_all(@builtin(vertex_index) v: u32) -> Halved {
    let at = vec2f(f32(v & 1u) * 2.0, f32(v >> 1u) * 2.0);
    return Halved(vec4f(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0, 0.0, 1.0), at);
}

@fragment
fn halve(in: Halved) -> Painted {
    let wet = textureSample(finer_wet, half_way, in.uv);
    return Painted(textureSample(finer_dry, half_way, in.uv), wet);
}
