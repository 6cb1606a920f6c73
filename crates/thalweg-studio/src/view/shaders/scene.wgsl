// Definitions that all parts of the picture share: the camera, the land's shape, the air, and the screen's colours.

struct Scene {
    // From metres as seen from the eye to clip space.
    clip: mat4x4f,
    // The eye; its height above the land's highest point.
    eye: vec4f,
    // The change of the ray with a step of one from the middle of the picture.
    right: vec4f,
    up: vec4f,
    forward: vec4f,
    // Samples eastward and southward, sides of a sample in metres.
    grid: vec4f,
    // Factor on heights, foot of the block, level of the sea; flag: water is drawn.
    rise: vec4f,
    // Towards the sun; flag: the picture is a map.
    sun: vec4f,
    // Width and height of the picture in pixels, a pixel's width in metres at one metre's distance, longer side of the land.
    picture: vec4f,
    // Distance at which haze begins, distance over which it thickens, its largest share; flag: the block has sides.
    air: vec4f,
    // Half the land's extent eastward and northward; factors on the height and the width of trees.
    half: vec4f,
    // West, south, east and north of the area that another shot shows.
    hole: vec4f,
}

@group(0) @binding(0) var<uniform> scene: Scene;

const DRY = -1e30;
const HOLE = -1.5e30;

// The sky at the horizon and overhead, and paper below.
const HORIZON = vec3f(0.730, 0.800, 0.858);
const ZENITH = vec3f(0.165, 0.335, 0.620);
const PAPER = vec3f(0.956, 0.947, 0.922);

// From linear light to sRGB.
fn encode(colour: vec3f) -> vec3f {
    let c = clamp(colour, vec3f(0.0), vec3f(1.0));
    return select(1.055 * pow(c, vec3f(1.0 / 2.4)) - 0.055, 12.92 * c, c < vec3f(0.0031308));
}

fn linear(colour: vec3f) -> vec3f {
    return select(pow((colour + 0.055) / 1.055, vec3f(2.4)), colour / 12.92, colour < vec3f(0.04045));
}

// The place of a sample, eastward and northward.
fn place(sample: vec2f) -> vec2f {
    return (sample - 0.5 * (scene.grid.xy - 1.0)) * scene.grid.zw * vec2f(1.0, -1.0);
}

// Returns the share of haze in the colour of a place, given relative to the eye.
fn haze(seen: vec3f) -> f32 {
    let far = max(length(seen) - scene.air.x, 0.0) / scene.air.y;
    return scene.air.z * (1.0 - exp(-far));
}

// Air in a direction of unit length, and the paper under the horizon.
fn sky(up: f32) -> vec3f {
    let above = mix(HORIZON, ZENITH, smoothstep(0.0, 0.6, up));
    return mix(above, PAPER, smoothstep(0.0, 0.55, -up));
}
