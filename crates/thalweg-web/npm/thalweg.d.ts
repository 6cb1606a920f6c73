// Generated from the declarations by `cargo xtask book`.

/** The module: an address, a response, or its bytes. The default is the file next to the imported script. */
export type ModuleSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/** Loads the module. Await it before you call anything else. */
export default function init(
  source?: { module_or_path: ModuleSource | Promise<ModuleSource> },
): Promise<unknown>;

/** Loads the module from its bytes synchronously, for example in Node. */
export function initSync(source: { module: BufferSource | WebAssembly.Module }): unknown;

/** Returns the version of the library. */
export function version(): string;

/** Returns the number of threads that share the work: 1, or as many as `initThreadPool` of `thalweg/threads` made. */
export function threads(): number;

/**
 * Sets the memory limit of all later work. The default is 1 GiB. Work that needs more is refused before it begins.
 *
 * @param bytes The limit in bytes, 0 to 4294967296.
 */
export function allowMemory(bytes: number): void;

/** The name of a model. */
export type ModelName = keyof Parameters;

/** Numbers, row by row from the north. */
export type Numbers =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | number[];

/** An elevation model from which a `Terrain` is created. */
export interface Land {
  /** Elevations in metres, row by row from the north; NaN for a no-data cell. */
  heights: Numbers;
  /** Number of rows. */
  rows: number;
  /** Number of columns. */
  cols: number;
  /** Side of a cell in metres. */
  cellSize: number;
  /** A value of `heights` that marks a no-data cell, in addition to NaN. */
  nodata?: number;
  /** Sea level in metres. The default is no sea. */
  seaLevel?: number;
  /** Boundary condition for water and sediment at the four sides. The default is "open". */
  edges?: "open" | "closed" | "looped";
  /** Further layers by name, for example `hardness`; each has as many values as `heights`. */
  layers?: Record<string, Numbers>;
}

/** A terrain: elevations, layers, and the recipe and report of the run that made it, if any. It is immutable. */
export class Terrain {
  /** Creates a terrain from an elevation model. */
  constructor(land: Land);
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns. */
  readonly cols: number;
  /** Side of a cell in metres. */
  readonly cellSize: number;
  /** Row and column in the world of the first cell. */
  readonly origin: Float64Array;
  /** Sea level in metres; undefined if there is no sea. */
  readonly seaLevel: number | undefined;
  /** Number of no-data cells. */
  readonly nodataCount: number;
  /** Lowest and highest elevation in metres; undefined if no cell has data. */
  readonly range: Float64Array | undefined;
  /** Names of the layers. */
  readonly layers: string[];
  /** The recipe of the run that made the terrain, as TOML with every parameter. */
  readonly recipe: string | undefined;
  /** The report of the run that made the terrain (docs/report.schema.json). */
  readonly report: Record<string, unknown> | undefined;
  /** Returns the exact elevations in metres; NaN in no-data cells. */
  heights(): Float64Array;
  /** Returns the elevations in metres, rounded to 24 bits, for example for a GPU; NaN in no-data cells. */
  heightsF32(): Float32Array;
  /**
   * Returns the values of a layer: heights and depths as Float64Array, real numbers as Float32Array, counts as
   * Uint32Array.
   */
  layer(name: string): Float64Array | Float32Array | Uint32Array;
  /** Returns the fingerprint of each layer and table, as in the command's reports. */
  fingerprints(): Record<string, string>;
  /** Frees the memory at once. Otherwise it is freed when nothing refers to the terrain any more. */
  free(): void;
  [Symbol.dispose](): void;
}

/** The progress of a run after a step. */
export interface Progress {
  /** Label of the current stage. */
  stage: string;
  /** The current level, where 0 is the coarsest, and the number of levels. */
  level: number;
  levels: number;
  /** Steps of the stage on this level: those that are done, and their total number. */
  step: number;
  steps: number;
  /** Steps of the run: those that are done, and their total number. */
  done: number;
  of: number;
}

/** Options of `build`. */
export interface BuildOptions {
  /** Number of cells on the longer side. The default is that of the recipe. */
  cells?: number;
  /** Seed of the world; a BigInt beyond 2^53. The default is that of the recipe. */
  seed?: number | bigint;
  /** Label of the last stage that runs. The default is the last stage of the recipe. */
  until?: string;
  /** Parameters of stages, by the label of the stage and the name of the parameter. */
  set?: Record<string, Record<string, number | boolean | string>>;
  /** Receives the progress after every step; if it returns false, the run ends with an error. */
  progress?: (progress: Progress) => boolean | void;
}

/**
 * Builds the world of a preset or of a recipe (TOML). The result has the same bits as that of the command.
 *
 * @throws Error with the library's message.
 */
export function build(recipe: PresetName | (string & {}), options?: BuildOptions): Terrain;

/**
 * Runs one model on a terrain and returns the result.
 *
 * @param parameters Parameters of the model. A parameter that is left out has its default.
 * @param options `seed` is the seed of the random numbers, 1 by default; `progress` receives the progress after every
 * step, and if it returns false, the call ends with an error.
 * @throws Error with the library's message.
 */
export function apply<M extends ModelName>(
  model: M,
  terrain: Terrain,
  parameters?: Parameters[M],
  options?: { seed?: number | bigint; progress?: (progress: Progress) => boolean | void },
): Terrain;

/** A channel reach: the part of a stream between two junctions. */
export interface Reach {
  /** Number of the reach, from 0. */
  id: number;
  /** Strahler's order. */
  order: number;
  /** Shreve's magnitude: the number of sources upstream. */
  magnitude: number;
  /** Length in metres. */
  length: number;
  /** Height of its first cell above its last, in metres. */
  drop: number;
  /** Drop divided by length. */
  slope: number;
  /** Drainage area in m² at its lower end. */
  drainageArea: number;
  /** Number of the reach downstream; null at an outlet. */
  downstream: number | null;
  /** Its cells, downstream: the row and the column of the first cell, then those of the second, and so on. */
  cells: Uint32Array;
}

/** The drainage of a terrain; arrays are row by row from the north. */
export interface Drainage {
  /** Heights with depressions filled, in metres. */
  filled: Float64Array;
  /** Depth of the filled depressions, in metres. */
  lakeDepth: Float64Array;
  /** Depth of carved channels in metres, if `breach` was given. */
  cut?: Float64Array;
  /**
   * D8 flow direction as an ESRI code: 1 east, 2 south-east, clockwise to 128 north-east; 0 where water leaves, 255
   * without data.
   */
  flowDirection: Uint8Array;
  /** D∞ direction of steepest descent in radians counter-clockwise from the east; below 0 where there is none. */
  angles: Float32Array;
  /** Number of cells upstream of each cell by D8, the cell included. */
  cells: Uint32Array;
  /** Drainage area in m², by the method of the options. */
  drainageArea: Float64Array;
  /** Number of the basin, from 1; 0 without data. */
  basins: Uint32Array;
  /** Strahler's order of the stream; 0 where there is none. */
  orders: Uint32Array;
  /** The channel reaches. */
  reaches: Reach[];
  /** Summary figures, as in the command's drain.json. */
  summary: Record<string, unknown>;
}

/** Computes the drainage of a terrain. */
export function drain(
  terrain: Terrain,
  options?: DrainOptions & {
    /** Receives the name of each task when it begins; false ends the call with an error. */
    progress?: (task: string) => boolean | void;
  },
): Drainage;

/** The textures of a terrain, as arrays with one entry or more per sample, row by row from the north. */
export interface Textures {
  rows: number;
  cols: number;
  /** Distance between two samples in metres. */
  cellSize: number;
  /** The materials of `weights`, in order. */
  materials: Material[];
  /** The sum of the weights of a sample: 255 or 65535. The sum is 0 in samples without data. */
  full: number;
  /** The weight of each material, sample by sample. */
  weights: Uint8Array | Uint16Array;
  /** Unlit colour: red, green and blue (sRGB), and 255. */
  albedo: Uint8ClampedArray;
  /** Roughness, 0 (smooth) to 1 (rough). */
  roughness: Float32Array;
  /** Visible share of the sky, 0 to 1. */
  occlusion: Float32Array;
  /** Mean curvature in 1/m, positive on crests. */
  curvature: Float32Array;
  /** Flow direction as a unit vector (east, south), and flow speed in m/s. */
  flow: Float32Array;
  /** Sediment thickness in metres, if the terrain has sediment. */
  deposit?: Float32Array;
}

/** Computes the textures of a terrain by the rules of its recipe, or by the default rules if it has none. */
export function textures(terrain: Terrain, options?: TexturesOptions): Textures;

/** A world of any size. A tile of any level is computed on request; its bits do not depend on the order of requests. */
export class World {
  /** Opens the world of a preset or of a recipe (TOML). */
  constructor(
    recipe: PresetName | (string & {}),
    options?: {
      /** Seed of the world; a BigInt beyond 2^53. The default is that of the recipe. */
      seed?: number | bigint;
      /** Side of a tile in cells, 16 to 4096. The default is 512. */
      tile?: number;
    },
  );
  /** The first and the last zoom of a web map of the world. */
  readonly zooms: Uint32Array;
  /** Returns the width of a level's cells in metres. */
  width(level: number): number;
  /** Returns four numbers: the first row and column of a level, and the row and column after its last. */
  bounds(level: number): Float64Array;
  /**
   * Computes the tile of a level that contains a position: `x` metres to the east and `y` metres to the south. If
   * `progress` returns false, the call ends with an error.
   */
  tile(
    level: number,
    x: number,
    y: number,
    progress?: (progress: { stage: string; done: number; of: number }) => boolean | void,
  ): Terrain;
  /** Returns the elevation in metres at a position; `x` and `y` as for `tile`. */
  heightAt(level: number, x: number, y: number): number;
  /**
   * Returns the description of the tiles for web maps (TileJSON 3); `base` is the address of the tiles, without a final
   * slash.
   */
  describe(base: string): Record<string, unknown>;
  /**
   * Returns a tile of the web map (EPSG:3857, 256 pixels) as a PNG: elevations in Mapbox's encoding,
   * −10000 m + 0.1 m · (65536 R + 256 G + B), which is the default, or in Terrarium's, or a hillshade. Returns
   * undefined if there is no such tile.
   */
  png(
    zoom: number,
    column: number,
    row: number,
    encoding?: "terrain-rgb" | "terrarium" | "hillshade",
  ): Uint8Array<ArrayBuffer> | undefined;
  /** Frees the memory at once. Otherwise it is freed when nothing refers to the world any more. */
  free(): void;
  [Symbol.dispose](): void;
}

/** A recipe that comes with the library. */
export interface Preset {
  name: PresetName;
  /** A paragraph that describes the landform. */
  about: string;
  /** Number of cells on the longer side. */
  cells: number;
  /** The text of the recipe (TOML). */
  recipe: string;
}

/** Returns the presets; `build` accepts their names. The first is a good start. */
export function presets(): Preset[];

/** A layer that a model needs, uses or writes. */
export interface LayerSpec {
  name: string;
  unit: string;
  meaning: string;
}

/** The declaration of a model. */
export interface ModelPage {
  name: ModelName;
  summary: string;
  /** The text of the model's page: the process, its formula, its source and its limits. */
  page: string;
  source: string;
  family: "base" | "erosion" | "analysis";
  parameters: {
    name: string;
    meaning: string;
    unit: string;
    allowed: string;
    type: "number" | "boolean" | "string";
    default: number | boolean | string;
    words: string[];
    source: string;
  }[];
  /** Layers that the model needs. */
  needs: LayerSpec[];
  /** Layers that the model uses if they are present. */
  uses: LayerSpec[];
  /** Layers that the model writes. */
  writes: LayerSpec[];
}

/** Returns the declarations of all models. */
export function models(): ModelPage[];

/** Options of `drain`. */
export interface DrainOptions {
  /**
   * The smallest drainage area of a stream. The default is 0.5 km², but at least 100 cells.
   *
   * Allowed: 0 to 1e15 m².
   */
  threshold?: number;
  /**
   * A cell where water leaves the map, counted from 0 in the north-west.
   */
  outlets?: ([number, number])[];
  /**
   * Breaches depressions by carving channels, and fills those that remain (Lindsay 2016): the maximum depth and length of a channel in metres. By default, all depressions are filled.
   */
  breach?: boolean | [number, number] | { depth: number; length: number };
  /**
   * The routing method of the drainage area. Flow directions, basins, streams and discharge always follow D8.
   * @default "d8"
   */
  method?: "d8" | "dinf" | "mfd";
  /**
   * The exponent of the slope in the method `mfd`: the larger it is, the more of the flow follows the steepest slope.
   *
   * Allowed: 0.5 to 10.
   * @default 1.1
   */
  exponent?: number;
}

/** Options of `textures`. */
export interface TexturesOptions {
  /**
   * The number of samples on the longer side. The default is one sample per cell. The outermost samples lie at the centres of the outermost cells.
   *
   * Allowed: a whole number from 1 to 65536.
   */
  size?: number;
  /**
   * The number of bits of each weight, 8 or 16.
   * @default 8
   */
  bits?: 8 | 16;
  /**
   * Shows forests from above in the albedo: the crowns of the trees instead of the forest floor.
   * @default false
   */
  fromAir?: boolean;
}

/** A recipe that comes with the library. */
export type PresetName =
  | "alpine"
  | "aged"
  | "archipelago"
  | "badlands"
  | "canyon"
  | "continent"
  | "desert"
  | "endless"
  | "fjords"
  | "forest"
  | "glacial"
  | "hills"
  | "lakes"
  | "river_delta"
  | "rivers"
  | "spring"
  | "storm"
  | "textbook"
  | "uplift"
  | "volcanic_island";

/** What covers ground. */
export type Material =
  | "bare_rock"
  | "scree"
  | "soil"
  | "grass"
  | "forest_floor"
  | "sand"
  | "snow"
  | "wet_bed";

/** Parameters by model; what is left out has its default. */
export interface Parameters {
  gradient_noise: GradientNoiseParameters;
  cellular_noise: CellularNoiseParameters;
  diamond_square: DiamondSquareParameters;
  midpoint_displacement: MidpointDisplacementParameters;
  fourier_synthesis: FourierSynthesisParameters;
  fault_formation: FaultFormationParameters;
  shape: ShapeParameters;
  volcano: VolcanoParameters;
  plates: PlatesParameters;
  elevation: ElevationParameters;
  climate: ClimateParameters;
  stream_power: StreamPowerParameters;
  droplets: DropletsParameters;
  thermal: ThermalParameters;
  drainage: DrainageParameters;
  soils: SoilsParameters;
  hillslope: HillslopeParameters;
  planation: PlanationParameters;
  glacier: GlacierParameters;
  dunes: DunesParameters;
  coast: CoastParameters;
  fluvial: FluvialParameters;
  pipes: PipesParameters;
  hydrology: HydrologyParameters;
  trees: TreesParameters;
  river_network: RiverNetworkParameters;
  delta: DeltaParameters;
  outlets: OutletsParameters;
  manual: ManualParameters;
}

/** Hills and ridges from octaves of gradient noise: fBm, billow, ridged, with warp and damping. */
export interface GradientNoiseParameters {
  /**
   * How octaves are shaped: rolling, rounded or ridged ground.
   *
   * Allowed: one of fbm, billow, ridged.
   * @default "fbm"
   */
  kind?: "fbm" | "billow" | "ridged";
  /**
   * Height of hills: three standard deviations for fbm, the whole range for the others; negative values turn the ground upside down.
   *
   * Allowed: -16000 to 16000 m.
   * @default 1200
   */
  amplitude?: number;
  /**
   * Distance from one large hill to the next.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 9000
   */
  wavelength?: number;
  /**
   * Number of octaves: each one adds finer hills, as far as the grid can resolve them.
   *
   * Allowed: a whole number from 1 to 24.
   * @default 12
   */
  octaves?: number;
  /**
   * Height of an octave relative to the next coarser one (persistence): higher values are rougher.
   *
   * Allowed: 0 to 1.
   * @default 0.47
   */
  gain?: number;
  /**
   * Factor by which hills become smaller from one octave to the next.
   *
   * Allowed: 1.1 to 8.
   * @default 2
   */
  lacunarity?: number;
  /**
   * For ridged: the size of the noise, about 0 to 1, at which the ground is lowest; lower values make narrow ridges with secondary crests between.
   *
   * Allowed: 0.1 to 4.
   * @default 1
   */
  ridge_offset?: number;
  /**
   * For ridged: how strongly the height of an octave admits the next one; low values leave valleys and flanks smooth.
   *
   * Allowed: 0 to 100.
   * @default 2
   */
  ridge_gain?: number;
  /**
   * How much finer octaves are reduced on steep slopes: smooth flanks, as if eroded.
   *
   * Allowed: 0 to 1000.
   * @default 0.1
   */
  damping?: number;
  /**
   * Displacement of points by domain warp, which curves ridges and hills (three standard deviations; at most 262144 cells).
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  warp?: number;
  /**
   * Wavelength of the domain warp.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 8000
   */
  warp_wavelength?: number;
  /**
   * Elevation added everywhere: the mean elevation of fbm, the lowest elevation of the others.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Bowls, peaks or blocks shaped by the distance to scattered points. */
export interface CellularNoiseParameters {
  /**
   * Distance that shapes the ground: bowls between crests (f1), wider bowls (f2), or blocks between valleys (f2_minus_f1).
   *
   * Allowed: one of f1, f2, f2_minus_f1.
   * @default "f1"
   */
  distance?: "f1" | "f2" | "f2_minus_f1";
  /**
   * Rise of the ground from a feature point to a distance of one wavelength; negative values turn bowls into peaks.
   *
   * Allowed: -16000 to 16000 m.
   * @default -1300
   */
  amplitude?: number;
  /**
   * Mean distance between feature points, and so between bowls or peaks.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 4500
   */
  wavelength?: number;
  /**
   * Irregularity of the points: 0 places them at the centres of their squares, 1 anywhere in them.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  jitter?: number;
  /**
   * Number of octaves; each one adds cells of half the size.
   *
   * Allowed: a whole number from 1 to 24.
   * @default 7
   */
  octaves?: number;
  /**
   * Height of an octave relative to the next coarser one.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  gain?: number;
  /**
   * Displacement of points by domain warp, as three standard deviations: it curves the straight crests.
   *
   * Allowed: 0 to 1000000 m.
   * @default 700
   */
  warp?: number;
  /**
   * Wavelength of the domain warp.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 5000
   */
  warp_wavelength?: number;
  /**
   * Elevation added everywhere: with f1, the elevation at the feature points.
   *
   * Allowed: -16000 to 16000 m.
   * @default 900
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Rough ground by repeated subdivision of squares, with a roughness. */
export interface DiamondSquareParameters {
  /**
   * Largest displacement on the first level, which sets the height of the land.
   *
   * Allowed: 0 to 16000 m.
   * @default 800
   */
  amplitude?: number;
  /**
   * Largest elevation or depth of the four corners of the world.
   *
   * Allowed: 0 to 16000 m.
   * @default 700
   */
  corners?: number;
  /**
   * Hurst's H, the rate at which displacements fall with each level: low values give rough ground, high values smooth ground.
   *
   * Allowed: 0 to 2.
   * @default 1
   */
  roughness?: number;
  /**
   * Elevation added everywhere.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Rough ground by repeated subdivision: edges from their ends, squares from their corners. */
export interface MidpointDisplacementParameters {
  /**
   * Largest displacement on the first level, which sets the height of the land.
   *
   * Allowed: 0 to 16000 m.
   * @default 650
   */
  amplitude?: number;
  /**
   * Largest elevation or depth of the four corners of the world.
   *
   * Allowed: 0 to 16000 m.
   * @default 700
   */
  corners?: number;
  /**
   * Hurst's H, the rate at which displacements fall with each level: low values give rough ground, high values smooth ground.
   *
   * Allowed: 0 to 2.
   * @default 0.85
   */
  roughness?: number;
  /**
   * Elevation added everywhere.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Periodic hills from waves that shrink by a power of their frequency. */
export interface FourierSynthesisParameters {
  /**
   * Rate at which amplitudes fall with frequency: 1.25 gives rough ground, 2 hills, 3 gentle swells.
   *
   * Allowed: 0 to 6.
   * @default 2
   */
  beta?: number;
  /**
   * Standard deviation of the elevation.
   *
   * Allowed: 0 to 16000 m.
   * @default 350
   */
  amplitude?: number;
  /**
   * How the amplitudes of waves follow the power law.
   *
   * Allowed: one of normal, exact.
   * @default "normal"
   */
  spectrum?: "normal" | "exact";
  /**
   * Elevation added everywhere: the mean elevation.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Breaks the terrain repeatedly along straight lines, each step lower than the one before. */
export interface FaultFormationParameters {
  /**
   * Number of faults: few leave scarps, many make hills.
   *
   * Allowed: a whole number from 1 to 20000.
   * @default 800
   */
  count?: number;
  /**
   * Height of the first fault's scarp.
   *
   * Allowed: 0 to 16000 m.
   * @default 50
   */
  step?: number;
  /**
   * Share by which the last scarp is lower than the first: with 1, steps decrease to zero.
   *
   * Allowed: 0 to 1.
   * @default 0.95
   */
  decay?: number;
  /**
   * Width of a scarp: 0 is vertical, large values give smooth hills.
   *
   * Allowed: 0 to 10000000 m.
   * @default 700
   */
  width?: number;
  /**
   * Elevation added everywhere.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A plane, cone, dome, crater, island, ridge or outlet. */
export interface ShapeParameters {
  /**
   * The shape to add.
   *
   * Allowed: one of plane, cone, dome, crater, island, ridge, outlet.
   * @default "island"
   */
  kind?: "plane" | "cone" | "dome" | "crater" | "island" | "ridge" | "outlet";
  /**
   * Height of the centre, of a crater's rim, of a ridge's crest, or of an outlet's centre before the cone is subtracted.
   *
   * Allowed: -16000 to 16000 m.
   * @default 900
   */
  height?: number;
  /**
   * Depth of a crater's floor, of the sea floor around an island, or of an outlet's cone.
   *
   * Allowed: -16000 to 16000 m.
   * @default 200
   */
  depth?: number;
  /**
   * Extent of the shape from its centre or axis; 0 takes half the shorter side of the map.
   *
   * Allowed: 0 to 10000000 m.
   * @default 0
   */
  radius?: number;
  /**
   * Position of the centre between the map's west side (0) and its east side (1); it may be outside the map.
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_x?: number;
  /**
   * Position of the centre between the map's north side (0) and its south side (1); it may be outside the map.
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_y?: number;
  /**
   * Plane: the direction in which it rises; ridge: the direction in which it runs. Clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 0
   */
  azimuth?: number;
  /**
   * Plane: the angle of its slope; outlet: the angle of the slope of the land around it.
   *
   * Allowed: 0 to 80 °.
   * @default 2
   */
  tilt?: number;
  /**
   * How far the shape is turned at random, by the world's seed, around the middle of the extent: its azimuth turns, and its centre moves along the sides of a rectangle. 1 allows any direction, 0 none.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  turn?: number;
  /**
   * Height added to the shape everywhere.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the shape's values are combined with the existing ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A volcano as lava built it: rift zones, cones along them, a caldera, a fallen flank. */
export interface VolcanoParameters {
  /**
   * Height of the summit above the volcano's foot.
   *
   * Allowed: 0 to 16000 m.
   * @default 2000
   */
  height?: number;
  /**
   * Distance that the flanks extend from the axes.
   *
   * Allowed: 1 to 10000000 m.
   * @default 6000
   */
  radius?: number;
  /**
   * Number of rift zones: 1 or 2 make a long ridge, 3 a star of three blunt arms.
   *
   * Allowed: a whole number from 1 to 6.
   * @default 2
   */
  rifts?: number;
  /**
   * Length of a rift zone in radii: a greater length makes the island longer.
   *
   * Allowed: 0 to 5.
   * @default 0.6
   */
  stretch?: number;
  /**
   * Direction of the first rift zone, clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 60
   */
  azimuth?: number;
  /**
   * How much the seed varies the directions, spacing and lengths of the axes: 0 not at all, 1 in any direction.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  wander?: number;
  /**
   * Number of small cones.
   *
   * Allowed: a whole number from 0 to 1000.
   * @default 24
   */
  vents?: number;
  /**
   * Radius of the largest small cone.
   *
   * Allowed: 1 to 1000000 m.
   * @default 350
   */
  vent?: number;
  /**
   * Distance that the caldera extends from its centre along the first rift zone; 0 for none.
   *
   * Allowed: 0 to 1000000 m.
   * @default 700
   */
  caldera?: number;
  /**
   * Depth of the caldera's floor below the summit.
   *
   * Allowed: 0 to 16000 m.
   * @default 220
   */
  caldera_depth?: number;
  /**
   * Depth of a collapsed flank's scar at its head, as a share of the height; 0 for none.
   *
   * Allowed: 0 to 1.
   * @default 0.45
   */
  collapse?: number;
  /**
   * Position of the summit between west (0) and east (1).
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_x?: number;
  /**
   * Position of the summit between north (0) and south (1).
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_y?: number;
  /**
   * How the volcano's values are combined with the existing ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A continent of plates: lowlands, shelf, deep sea, and the uplift of the land. */
export interface PlatesParameters {
  /**
   * Mean distance between the centres of plates.
   *
   * Allowed: 1 to 100000000 m.
   * @default 470000
   */
  spacing?: number;
  /**
   * Square of the distance over which plates blend at their boundaries, divided by the square of the spacing: more makes broader belts.
   *
   * Allowed: 0.02 to 1.
   * @default 0.15
   */
  belt?: number;
  /**
   * How far plate boundaries are displaced by domain warp (three standard deviations).
   *
   * Allowed: 0 to 10000000 m.
   * @default 330000
   */
  warp?: number;
  /**
   * Distance over which the warp varies most.
   *
   * Allowed: 1 to 100000000 m.
   * @default 420000
   */
  warp_wavelength?: number;
  /**
   * How ragged coasts are: the standard deviation of the noise in C.
   *
   * Allowed: 0 to 2.
   * @default 0.27
   */
  rough?: number;
  /**
   * Distance over which coasts vary most.
   *
   * Allowed: 1 to 100000000 m.
   * @default 520000
   */
  rough_wavelength?: number;
  /**
   * Radius of the land, as a share of half the map's shorter side: more gives more land.
   *
   * Allowed: 0.05 to 2.
   * @default 1
   */
  radius?: number;
  /**
   * Elevation of the lowlands far from the coast, before any uplift.
   *
   * Allowed: 0 to 8000 m.
   * @default 700
   */
  height?: number;
  /**
   * Depth of the shelf's edge.
   *
   * Allowed: 0 to 8000 m.
   * @default 170
   */
  shelf?: number;
  /**
   * Depth of the open sea.
   *
   * Allowed: 0 to 12000 m.
   * @default 3800
   */
  depth?: number;
  /**
   * Standard deviation of hills and swells on the lowlands, which give the first rivers their bends.
   *
   * Allowed: 0 to 8000 m.
   * @default 12
   */
  hills?: number;
  /**
   * Width of the rims along coasts that separate the interior from the sea.
   *
   * Allowed: 1 to 100000000 m.
   * @default 110000
   */
  rim?: number;
  /**
   * Number of mouths of great rivers.
   *
   * Allowed: a whole number from 1 to 64.
   * @default 3
   */
  mouths?: number;
  /**
   * Factor on all values of the layer `uplift`.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  uplift?: number;
  /**
   * How the continent's elevations are combined with the existing ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** The ground of an elevation model given as a layer. */
export interface ElevationParameters {
  /**
   * Factor on the elevations: values above 1 exaggerate relief.
   *
   * Allowed: -1000 to 1000.
   * @default 1
   */
  scale?: number;
  /**
   * Elevation added to the scaled elevations.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values are combined with the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Computes the distribution of rain by latitude, wind and relief. */
export interface ClimateParameters {
  /**
   * Latitude of the centre of the map, which determines its position in the wind and rain belts.
   *
   * Allowed: -90 to 90 °.
   * @default 45
   */
  latitude?: number;
  /**
   * How the wind direction is determined.
   *
   * Allowed: one of belts, from.
   * @default "belts"
   */
  winds?: "belts" | "from";
  /**
   * Direction that the wind comes from, clockwise from north, for `winds = "from"`.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  azimuth?: number;
  /**
   * Factor on the rain; 1 is the rain of the Earth.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  amount?: number;
  /**
   * Rain at which the layer has the value 1; where more falls the layer stays at 1.
   *
   * Allowed: 0.01 to 100 m/a.
   * @default 4
   */
  most?: number;
  /**
   * Distance over level land on which rain reduces the moisture of the air to 1/e, if no rain evaporates again.
   *
   * Allowed: 1000 to 100000000 m.
   * @default 1500000
   */
  reach?: number;
  /**
   * Share of the rain over level land that falls even where air descends, from clouds that rise over warm ground.
   *
   * Allowed: 0 to 1.
   * @default 0.15
   */
  least?: number;
  /**
   * Distance over sea on which the moisture deficit of dry air falls to 1/e.
   *
   * Allowed: 1000 to 100000000 m.
   * @default 400000
   */
  fill?: number;
  /**
   * Height that air must climb to lose all but 1/e of its moisture: lower values give wetter slopes and drier rain shadows.
   *
   * Allowed: 100 to 100000 m.
   * @default 4500
   */
  rise?: number;
  /**
   * Share of the rain on land that evaporates again there.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  returned?: number;
  /**
   * Distance over which eddies mix the air.
   *
   * Allowed: 0 to 10000000 m.
   * @default 100000
   */
  mixing?: number;
  /**
   * Width of the cells on which the moisture is computed; at least a 512th of the map.
   *
   * Allowed: 0.01 to 1000000 m.
   * @default 16000
   */
  stride?: number;
}

/** Land is uplifted and rivers incise it: branching valleys and ridges above a base level. */
export interface StreamPowerParameters {
  /**
   * Simulated time on the coarsest level: land that began as a plain is in balance after a few million years.
   *
   * Allowed: 0 to 1000000000 a.
   * @default 1000000
   */
  years?: number;
  /**
   * Length of a time step on the coarsest level: longer steps are faster to compute and give softer terrain.
   *
   * Allowed: 1 to 10000000 a.
   * @default 20000
   */
  step?: number;
  /**
   * Width of the coarsest level's cells, on which the great valleys form; 0 uses only the grid's own cells.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  stride?: number;
  /**
   * Simulated time of each finer level, as a share of that of the level before.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  finer_years?: number;
  /**
   * Length of each finer level's time steps, as a share of that of the level before.
   *
   * Allowed: 0.01 to 1.
   * @default 0.6
   */
  finer_step?: number;
  /**
   * Rate at which the land rises, U: more gives higher mountains.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0.0005
   */
  uplift?: number;
  /**
   * How much uplift varies from region to region: the standard deviation of its logarithm.
   *
   * Allowed: 0 to 3.
   * @default 0.3
   */
  uplift_variation?: number;
  /**
   * Distance over which uplift varies.
   *
   * Allowed: 1 to 10000000 m.
   * @default 6000
   */
  uplift_wavelength?: number;
  /**
   * Erodibility of rock by rivers, K: more gives lower mountains.
   *
   * Allowed: 0 to 1 m^(1−2m)/a.
   * @default 0.000007
   */
  erodibility?: number;
  /**
   * How much erodibility varies from region to region: the standard deviation of its logarithm.
   *
   * Allowed: 0 to 3.
   * @default 0.6
   */
  erodibility_variation?: number;
  /**
   * Distance over which erodibility varies most.
   *
   * Allowed: 1 to 10000000 m.
   * @default 2500
   */
  erodibility_wavelength?: number;
  /**
   * Ratio of length to width of regions of similar uplift or erodibility, along a strike that the seed draws: ranges and valleys run that way. 1 treats all directions the same.
   *
   * Allowed: 1 to 20.
   * @default 1
   */
  fabric?: number;
  /**
   * How much more erodible crushed rock along faults is: the natural logarithm of the factor in the middle of a fault; 0 for none.
   *
   * Allowed: 0 to 3.
   * @default 0
   */
  faults?: number;
  /**
   * Distance between faults.
   *
   * Allowed: 1 to 10000000 m.
   * @default 3000
   */
  faults_spacing?: number;
  /**
   * Width of the crushed rock along a fault.
   *
   * Allowed: 1 to 100000 m.
   * @default 200
   */
  faults_width?: number;
  /**
   * How much each octave of fine grain varies erodibility: the standard deviation of its logarithm. It makes ridges and gullies less uniform.
   *
   * Allowed: 0 to 2.
   * @default 0.5
   */
  grain?: number;
  /**
   * Wavelength at which fine grain begins; its octaves continue down to the cell.
   *
   * Allowed: 0.01 to 1000000 m.
   * @default 100
   */
  grain_wavelength?: number;
  /**
   * Runoff where the layer `rain` is 1. A is then the water that drains through a cell, in units of one metre a year on a square metre, and `erodibility` applies to a runoff of one metre a year. With 0, A is the area of land, whatever the rain.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0
   */
  rain?: number;
  /**
   * Exponent m of drainage area: a higher value gives rivers that flatten sooner downstream.
   *
   * Allowed: 0 to 2.
   * @default 0.45
   */
  area_exponent?: number;
  /**
   * Exponent n of slope: above 1 steep reaches retreat as waves, below 1 they stay in place.
   *
   * Allowed: 0.25 to 5.
   * @default 1
   */
  slope_exponent?: number;
  /**
   * How drainage area is computed.
   *
   * Allowed: one of multiple, d8.
   * @default "multiple"
   */
  area?: "multiple" | "d8";
  /**
   * Exponent of slope in multiple flow: a higher value concentrates the flow.
   *
   * Allowed: 0.5 to 10.
   * @default 1.1
   */
  spread?: number;
  /**
   * Deposition G: how much of what is eroded upstream settles on the way; it builds valley floors, fans and plains.
   *
   * Allowed: 0 to 5.
   * @default 0
   */
  deposition?: number;
  /**
   * How many times faster sediment is eroded than rock.
   *
   * Allowed: 1 to 100.
   * @default 2
   */
  loose_ease?: number;
  /**
   * Steepest angle of slopes, the same in all directions; 0 for no limit.
   *
   * Allowed: 0 to 89 °.
   * @default 36
   */
  slope_limit?: number;
  /**
   * How much the slope limit varies: the standard deviation of its logarithm.
   *
   * Allowed: 0 to 1.
   * @default 0.22
   */
  slope_variation?: number;
  /**
   * Distance over which the slope limit varies most.
   *
   * Allowed: 1 to 10000000 m.
   * @default 400
   */
  slope_wavelength?: number;
  /**
   * Hillslope diffusion coefficient, κ: more gives rounder crests and valley heads.
   *
   * Allowed: 0 to 10 m²/a.
   * @default 0.005
   */
  diffusion?: number;
  /**
   * Half the width of valley floors in metres, divided by the square root of the drainage area in m²: rivers cut floors to both sides. 0 for none.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  planation?: number;
  /**
   * Drainage area from which on a river cuts a floor.
   *
   * Allowed: 0 to 1000000000 km².
   * @default 2
   */
  planation_area?: number;
  /**
   * Slope of the floor away from the river, as rise over run.
   *
   * Allowed: 0 to 1.
   * @default 0.015
   */
  planation_rise?: number;
  /**
   * How much the width of floors varies, from side to side and along the river: the standard deviation of its logarithm. Floors are also wider in more erodible rock, with the square root of erodibility.
   *
   * Allowed: 0 to 2.
   * @default 0.6
   */
  planation_unevenness?: number;
  /**
   * Speed at which the places move where a river cuts its sides: what it leaves behind remains as terraces.
   *
   * Allowed: 0 to 10 m/a.
   * @default 0.01
   */
  planation_drift?: number;
  /**
   * How fast a river's bends grow, in half widths of its floor per thousand years: a standard deviation. The ground that bends undercut becomes floor.
   *
   * Allowed: 0 to 10 1/ka.
   * @default 0
   */
  planation_wander?: number;
  /**
   * Slope of the ground at a floor's rim, where the feet of slopes bury it, as rise over run.
   *
   * Allowed: 0 to 2.
   * @default 0.4
   */
  planation_foot?: number;
  /**
   * Depth of the bed below the floor for a river that drains 1 km²; it grows with the drainage area to the power of 0.3.
   *
   * Allowed: 0 to 100 m.
   * @default 0.5
   */
  planation_bed?: number;
  /**
   * Contrast between hard and soft beds, as the most that they add to or subtract from the logarithm of erodibility: it makes cliffs and benches. 0 for none.
   *
   * Allowed: 0 to 3.
   * @default 0
   */
  strata?: number;
  /**
   * Mean thickness of beds.
   *
   * Allowed: 2 to 10000 m.
   * @default 180
   */
  strata_thickness?: number;
  /**
   * Dip of the beds, as fall over run.
   *
   * Allowed: 0 to 1 m/m.
   * @default 0.004
   */
  strata_dip?: number;
  /**
   * Direction in which the beds dip, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 120
   */
  strata_direction?: number;
}

/** Raindrops run downhill, erode and deposit: gullies, fans, filled depressions. */
export interface DropletsParameters {
  /**
   * Size of the cells that droplets run on, which sets the scale of the carved valleys; 0 uses the grid's cell.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  stride?: number;
  /**
   * Droplets per square kilometre: more erode deeper; 0 means one per square stride.
   *
   * Allowed: 0 to 1000000000 1/km².
   * @default 0
   */
  density?: number;
  /**
   * Total number of droplets, instead of a density; 0 uses the density.
   *
   * Allowed: a whole number from 0 to 4000000000.
   * @default 0
   */
  count?: number;
  /**
   * Share of the old direction that is kept in a stride: 0 follows the steepest slope, values near 1 run straight on.
   *
   * Allowed: 0 to 0.999.
   * @default 0.1
   */
  inertia?: number;
  /**
   * Velocity at the start; higher values erode deeper from the first step.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  velocity?: number;
  /**
   * Water at the start; more water carries more sediment.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  water?: number;
  /**
   * Increase of the squared velocity per metre of fall: higher values make long falls faster and erode them deeper.
   *
   * Allowed: 0 to 100 1/m.
   * @default 0.001
   */
  gravity?: number;
  /**
   * Smallest slope used for the capacity: keeps droplets eroding on nearly flat ground.
   *
   * Allowed: 0 to 1000.
   * @default 0.01
   */
  min_slope?: number;
  /**
   * Sediment that a droplet of velocity 1 and water 1 can carry, in falls of one stride: higher values erode deeper before anything is deposited.
   *
   * Allowed: 0 to 1000.
   * @default 3
   */
  capacity_factor?: number;
  /**
   * Share of the missing sediment that is eroded in a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  erosion?: number;
  /**
   * Share of the excess sediment that is deposited in a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  deposition?: number;
  /**
   * Share of the water lost in a stride: higher values make shorter paths.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  evaporation?: number;
  /**
   * Radius of the eroding brush, in strides: wide brushes make broad valleys, 0 makes trenches one cell wide.
   *
   * Allowed: 0 to 30 stride.
   * @default 2
   */
  radius?: number;
  /**
   * Longest path of a droplet, in strides.
   *
   * Allowed: a whole number from 1 to 100000 stride.
   * @default 600
   */
  max_steps?: number;
  /**
   * A droplet ends when its water falls below this.
   *
   * Allowed: 0 to 1.
   * @default 0.001
   */
  min_water?: number;
  /**
   * Elevation below which no cell is eroded.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
  /**
   * Storage test: heights are kept in this many bits over 1 000 m, as in an image; 32 keeps full precision.
   *
   * Allowed: a whole number from 8 to 32 bit.
   * @default 32
   */
  store_bits?: number;
  /**
   * True if the number of droplet steps on each cell is written too.
   *
   * Allowed: true or false.
   * @default false
   */
  visits?: boolean;
  /**
   * True if the total erosion of each cell is written too.
   *
   * Allowed: true or false.
   * @default false
   */
  wear?: boolean;
  /**
   * True if the total deposition on each cell is written too.
   *
   * Allowed: true or false.
   * @default false
   */
  deposit?: boolean;
}

/** Material slides where the slope exceeds the angle of repose: scree below cliffs, even slopes. */
export interface ThermalParameters {
  /**
   * How far material may slide in total. It determines the number of steps: material moves one cell per step.
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  distance?: number;
  /**
   * Number of steps, which replaces `distance`; with 0 the distance determines it.
   *
   * Allowed: a whole number from 0 to 1000000.
   * @default 0
   */
  steps?: number;
  /**
   * Angle of repose of sediment: scree and sand that are steeper slide.
   *
   * Allowed: 0 to 89 °.
   * @default 34
   */
  talus?: number;
  /**
   * Angle above which bedrock crumbles into sediment, at least `talus`; at 90 no rock falls.
   *
   * Allowed: 0 to 90 °.
   * @default 42
   */
  rock_talus?: number;
  /**
   * Share of the greatest stable amount that slides in a step.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  rate?: number;
}

/** Computes drainage areas, basins, streams and lakes as layers. */
export interface DrainageParameters {
  /**
   * Accumulation from which on a cell is a stream: lower values give more and finer streams.
   *
   * Allowed: 0 to 1000000000000 m².
   * @default 500000
   */
  threshold?: number;
  /**
   * Annual depth of water that runs off the land: above 0, discharge is written and depressions are full of water.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0
   */
  runoff?: number;
  /**
   * True if depressions are full of water even without `runoff`.
   *
   * Allowed: true or false.
   * @default false
   */
  lakes?: boolean;
  /**
   * How the water of a cell is divided among its neighbours.
   *
   * Allowed: one of d8, d_infinity, multiple.
   * @default "d8"
   */
  routing?: "d8" | "d_infinity" | "multiple";
}

/** Classifies the ground as rock, gravel, sand, loam, clay or peat, and places beds of rock below. */
export interface SoilsParameters {
  /**
   * The soil of cells to which no other rule applies.
   *
   * Allowed: one of rock, gravel, sand, loam, clay, peat, own.
   * @default "loam"
   */
  dominant?: "rock" | "gravel" | "sand" | "loam" | "clay" | "peat" | "own";
  /**
   * Width over which the ground is averaged before its slope is computed: narrower gullies and steps do not count.
   *
   * Allowed: 0 to 100000 m.
   * @default 60
   */
  scale?: number;
  /**
   * Slope from which on rock is bare; at least `gravel_slope`.
   *
   * Allowed: 0 to 89 °.
   * @default 38
   */
  rock_slope?: number;
  /**
   * Slope from which on the ground is gravel and scree.
   *
   * Allowed: 0 to 89 °.
   * @default 30
   */
  gravel_slope?: number;
  /**
   * Elevation from which on frost leaves only gravel.
   *
   * Allowed: -16000 to 16000 m.
   * @default 2500
   */
  soil_line?: number;
  /**
   * Slope below which land is level: sand, clay and peat occur there.
   *
   * Allowed: 0 to 89 °.
   * @default 4
   */
  flat_slope?: number;
  /**
   * Height above the sea up to which there are beaches, and depth of water down to which the bed is sand.
   *
   * Allowed: 0 to 1000 m.
   * @default 6
   */
  shore?: number;
  /**
   * Width of the mean that defines basins: level land below the mean elevation around it is in a basin.
   *
   * Allowed: 0 to 1000000 m.
   * @default 1500
   */
  basin?: number;
  /**
   * Depth below the mean over `basin` from which on a place is a hollow.
   *
   * Allowed: 0 to 10000 m.
   * @default 8
   */
  hollow?: number;
  /**
   * Part of the level hollows that is peat, in patches.
   *
   * Allowed: 0 to 1.
   * @default 0.35
   */
  peat?: number;
  /**
   * Part of the other level land that is sand, in patches.
   *
   * Allowed: 0 to 1.
   * @default 0.12
   */
  sand?: number;
  /**
   * Discharge from which on a river's bed is washed: gravel or sand.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 1
   */
  river?: number;
  /**
   * How irregular the borders between soils are: the standard deviation of the slopes and heights that define them, as a share of these (of 200 m for the soil line).
   *
   * Allowed: 0 to 0.5.
   * @default 0.12
   */
  amplitude?: number;
  /**
   * Size of the patches and of the irregularities of borders.
   *
   * Allowed: 1 to 10000000 m.
   * @default 500
   */
  wavelength?: number;
  /**
   * Greatest thickness of the upper ground that counts as sediment: the mantle that water and slopes erode first.
   *
   * Allowed: 0 to 100 m.
   * @default 0
   */
  depth?: number;
  /**
   * If true, soils are classified again where a map of them already exists; if false, that map is checked and kept.
   *
   * Allowed: true or false.
   * @default false
   */
  anew?: boolean;
  /**
   * Elevation of the bottom of the lowest bed of rock at the world's north-western corner.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  strata_base?: number;
  /**
   * Dip of the beds, as fall over run.
   *
   * Allowed: 0 to 1 m/m.
   * @default 0.004
   */
  strata_dip?: number;
  /**
   * Direction in which the beds dip, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 120
   */
  strata_direction?: number;
  /**
   * How far the beds are warped up and down: three standard deviations.
   *
   * Allowed: 0 to 10000 m.
   * @default 0
   */
  strata_warp?: number;
  /**
   * Distance over which the beds are warped up and down.
   *
   * Allowed: 1 to 10000000 m.
   * @default 5000
   */
  strata_wavelength?: number;
}

/** Limits slopes equally in all directions and lets soil creep: even flanks, round crests. */
export interface HillslopeParameters {
  /**
   * Duration of the creep.
   *
   * Allowed: 0 to 10000000 a.
   * @default 20000
   */
  years?: number;
  /**
   * Rate of soil creep, which rounds crests and fills hollows.
   *
   * Allowed: 0 to 10 m²/a.
   * @default 0.005
   */
  diffusion?: number;
  /**
   * Steepest stable slope; 90 leaves slopes as steep as they are.
   *
   * Allowed: 0 to 90 °.
   * @default 35
   */
  angle?: number;
  /**
   * Unevenness of the steepest slope: the standard deviation of its logarithm. With 0, flanks are as smooth as cones.
   *
   * Allowed: 0 to 1.
   * @default 0.08
   */
  jitter?: number;
  /**
   * Distance from one steep flank to the next.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 1000
   */
  jitter_wavelength?: number;
}

/** Rivers erode flat valley floors on both sides, wider where the discharge is larger: connected valleys. */
export interface PlanationParameters {
  /**
   * Drainage area from which on a river cuts a floor.
   *
   * Allowed: 0 to 1000000000 km².
   * @default 2
   */
  threshold?: number;
  /**
   * Half the floor's width in metres, divided by the square root of the drainage area in m².
   *
   * Allowed: 0 to 1.
   * @default 0.035
   */
  width?: number;
  /**
   * Greatest half width of a floor, before its unevenness.
   *
   * Allowed: 0 to 100000 m.
   * @default 500
   */
  widest?: number;
  /**
   * Slope of the floor away from the river, as rise over run.
   *
   * Allowed: 0 to 1.
   * @default 0.015
   */
  rise?: number;
  /**
   * Outer part of the half width over which the cut eases out; a small value leaves steep banks.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  edge?: number;
  /**
   * How much the width of floors varies: the standard deviation of its logarithm.
   *
   * Allowed: 0 to 2.
   * @default 0.35
   */
  unevenness?: number;
  /**
   * Distance from one wide place of a floor to the next, in half widths.
   *
   * Allowed: 2 to 1000.
   * @default 8
   */
  wavelength?: number;
  /**
   * Share of the cut that is made in one step.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  share?: number;
  /**
   * How many times rivers are located and floors are cut.
   *
   * Allowed: a whole number from 0 to 10000.
   * @default 1
   */
  steps?: number;
}

/** Glaciers accumulate, flow and erode their beds: troughs, cirques, sharp crests, lake basins, fjords. */
export interface GlacierParameters {
  /**
   * Time for which the bed is eroded: more gives deeper troughs.
   *
   * Allowed: 0 to 10000000 a.
   * @default 20000
   */
  years?: number;
  /**
   * Time for which the bed is eroded between two updates of the ice.
   *
   * Allowed: 1 to 100000 a.
   * @default 250
   */
  step?: number;
  /**
   * Time for which ice flows in each step of the model.
   *
   * Allowed: 0.1 to 10000 a.
   * @default 5
   */
  ice_years?: number;
  /**
   * Highest number of ice flow steps in `ice_years`: more let ice on fine cells keep up with its bed.
   *
   * Allowed: a whole number from 1 to 1000.
   * @default 12
   */
  ice_steps?: number;
  /**
   * Time for which ice grows before it erodes the bed.
   *
   * Allowed: 0 to 100000 a.
   * @default 300
   */
  growth?: number;
  /**
   * Elevation at which as much ice melts as snow falls: lower values make longer and thicker glaciers.
   *
   * Allowed: -16000 to 16000 m.
   * @default 1200
   */
  snowline?: number;
  /**
   * Amplitude of the snowline's oscillation around `snowline`: cirques in mild ages, long troughs in cold ones.
   *
   * Allowed: 0 to 5000 m.
   * @default 0
   */
  swing?: number;
  /**
   * Time from one cold age to the next.
   *
   * Allowed: 1 to 10000000 a.
   * @default 10000
   */
  cycle?: number;
  /**
   * Increase of the balance of snowfall and melt with each metre of elevation.
   *
   * Allowed: 0 to 0.1 1/a.
   * @default 0.007
   */
  gradient?: number;
  /**
   * Highest snow accumulation, at high elevations.
   *
   * Allowed: 0 to 50 m/a.
   * @default 1.5
   */
  accumulation?: number;
  /**
   * How much lower the snowline is on vertical walls in the shade, and higher on sunny ones: cirques on one side of crests.
   *
   * Allowed: 0 to 2000 m.
   * @default 0
   */
  shade?: number;
  /**
   * Direction that shaded slopes face and that wind drifts snow to, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 30
   */
  shade_azimuth?: number;
  /**
   * How readily ice deforms: softer ice is thinner.
   *
   * Allowed: 0 to 10 1/(bar³·a).
   * @default 0.0757
   */
  softness?: number;
  /**
   * How readily ice slides: higher values give thinner ice that erodes more.
   *
   * Allowed: 0 to 1000000 m²/(bar³·a).
   * @default 1800
   */
  sliding?: number;
  /**
   * Rock eroded for each metre that ice slides.
   *
   * Allowed: 0 to 0.1 m^(1−l)·a^(l−1).
   * @default 0.0001
   */
  erosion?: number;
  /**
   * Exponent l of the sliding speed: higher values erode fast trunk glaciers deeper relative to slow tributaries.
   *
   * Allowed: 0.5 to 3.
   * @default 1
   */
  exponent?: number;
  /**
   * How many times as fast as the floor vertical walls are eroded: higher values give broad floors and steep sides.
   *
   * Allowed: 0 to 20.
   * @default 2
   */
  widening?: number;
  /**
   * Distance over which ice moves as one: more gives broad troughs instead of narrow clefts.
   *
   * Allowed: 0 to 100000 m.
   * @default 250
   */
  coupling?: number;
  /**
   * Height above the mean bed over `coupling` at which the bed is eroded twice as fast; as far below the mean nothing is eroded: even, broad floors. 0 erodes depressions and bumps of the bed equally.
   *
   * Allowed: 0 to 1000 m.
   * @default 0
   */
  knob?: number;
  /**
   * Retreat rate of walls that rise from ice: cirques with headwalls, arêtes.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0
   */
  headwall?: number;
  /**
   * Thickness at which ice erodes half as much, as it is half frozen to its bed: thinner ice erodes little, so crests stay.
   *
   * Allowed: 0 to 1000 m.
   * @default 40
   */
  grip?: number;
  /**
   * Highest rise of the bed along the ice for each metre that the ice surface falls: more gives deeper basins.
   *
   * Allowed: 0 to 1000.
   * @default 1.5
   */
  adverse?: number;
  /**
   * Share of the eroded material that is deposited where the ice melts; meltwater carries off the rest.
   *
   * Allowed: 0 to 1.
   * @default 0.15
   */
  till?: number;
  /**
   * Steepest angle of walls; 90 sets no limit.
   *
   * Allowed: 1 to 90 °.
   * @default 50
   */
  slope_limit?: number;
  /**
   * Variation of the slope limit: the standard deviation of its logarithm.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  slope_variation?: number;
  /**
   * Distance over which the slope limit varies most.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 500
   */
  slope_wavelength?: number;
  /**
   * True if the ice melts at the end.
   *
   * Allowed: true or false.
   * @default true
   */
  melt?: boolean;
}

/** Wind-blown sand: barchans, ridges across the wind and along it, with slip faces in the lee. */
export interface DunesParameters {
  /**
   * Duration of the wind: dunes grow, merge and become fewer.
   *
   * Allowed: 0 to 1000000 a.
   * @default 800
   */
  years?: number;
  /**
   * Sand flux of the wind over a plain of sand: higher values make dunes change faster.
   *
   * Allowed: 0 to 10000 m²/a.
   * @default 20
   */
  transport?: number;
  /**
   * Direction that the wind blows from, clockwise from north: 270 is a west wind.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  wind?: number;
  /**
   * Angle over which the winds of the seasons spread: 0 gives crests across the wind, more than 90 gives ridges along the mean wind.
   *
   * Allowed: 0 to 360 °.
   * @default 0
   */
  wind_variation?: number;
  /**
   * Number of winds, which take turns from step to step: two make long ridges, three spread over 240° make star dunes.
   *
   * Allowed: a whole number from 1 to 12.
   * @default 2
   */
  winds?: number;
  /**
   * Standard deviation of the wind's direction: more makes crests less straight.
   *
   * Allowed: 0 to 45 °.
   * @default 5
   */
  gusts?: number;
  /**
   * Length of a slab's hop, which sets the smallest size of dunes.
   *
   * Allowed: 0.1 to 10000 m.
   * @default 20
   */
  hop?: number;
  /**
   * Thickness of a slab; 0 uses a tenth of a cell. Thinner slabs give smoother sand and need more steps.
   *
   * Allowed: 0 to 100 m.
   * @default 0
   */
  slab?: number;
  /**
   * Share of a slab that stays where it lands on sand.
   *
   * Allowed: 0.05 to 1.
   * @default 0.6
   */
  on_sand?: number;
  /**
   * Share of a slab that stays where it lands on bare ground: lower values leave more ground bare.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  on_rock?: number;
  /**
   * Angle at which the wind's shadow falls behind a crest.
   *
   * Allowed: 1 to 60 °.
   * @default 15
   */
  shadow?: number;
  /**
   * Angle of repose of sand, which is the slope of lee faces.
   *
   * Allowed: 5 to 60 °.
   * @default 33
   */
  repose?: number;
  /**
   * Steepest ground that sand is blown up; steeper cliffs stop it.
   *
   * Allowed: 1 to 89 °.
   * @default 25
   */
  climb?: number;
  /**
   * How much farther slabs hop over ground that rises above its surroundings: more gives lower dunes with rounder backs.
   *
   * Allowed: 0 to 100.
   * @default 8
   */
  speed_up?: number;
  /**
   * Downhill creep of sand in the wind, relative to transport times slope: more gives smoother, wider dunes. At most a fifth of the height difference to a neighbour moves in a step, so on cells much finer than a hop the creep is less.
   *
   * Allowed: 0 to 10.
   * @default 0.4
   */
  creep?: number;
  /**
   * Thickness of sand placed on the plains at the start, where there is no sediment in the world.
   *
   * Allowed: 0 to 1000 m.
   * @default 10
   */
  sand?: number;
  /**
   * Unevenness of the initial sand and the inflow: 0 is even; at 1 some ground is bare and some has twice as much.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  patchiness?: number;
  /**
   * Sand that enters over open edges upwind, as a share of what a plain of sand beyond them would supply.
   *
   * Allowed: 0 to 2.
   * @default 1
   */
  inflow?: number;
}

/** Waves cut cliffs and platforms and deposit beaches in bays; corals build reefs. */
export interface CoastParameters {
  /**
   * Duration of the wave action.
   *
   * Allowed: 0 to 1000000 a.
   * @default 3000
   */
  years?: number;
  /**
   * Initial retreat rate of the most exposed shore of hardness 0; sediment retreats no faster.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0.05
   */
  retreat?: number;
  /**
   * Length of open water over which waves grow to their full height.
   *
   * Allowed: 1 to 10000000 m.
   * @default 10000
   */
  fetch?: number;
  /**
   * How strongly waves come from one direction: with 0 all directions count the same, with 1 none come from the opposite side.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  swell?: number;
  /**
   * Direction that most waves come from, clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  swell_from?: number;
  /**
   * Distance over land and shoals on which the fetch falls to a third: lower values leave bays calmer.
   *
   * Allowed: 1 to 100000 m.
   * @default 100
   */
  shelter?: number;
  /**
   * Depth to which waves erode the sea floor.
   *
   * Allowed: 0 to 1000 m.
   * @default 8
   */
  wave_base?: number;
  /**
   * Slope of the platform in front of a cliff's foot.
   *
   * Allowed: 0 to 45 °.
   * @default 1.5
   */
  platform?: number;
  /**
   * Steepest slope of cliffs.
   *
   * Allowed: 0 to 90 °.
   * @default 55
   */
  cliff?: number;
  /**
   * Share of the eroded bedrock that becomes sand; the rest is mud and is lost.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  sandy?: number;
  /**
   * Distance that waves carry sand along the shore.
   *
   * Allowed: 0 to 1000000 m.
   * @default 1500
   */
  drift?: number;
  /**
   * Slope of beaches.
   *
   * Allowed: 0.1 to 45 °.
   * @default 3
   */
  beach?: number;
  /**
   * Height above the sea to which waves deposit sand.
   *
   * Allowed: 0 to 100 m.
   * @default 1.5
   */
  runup?: number;
  /**
   * Highest growth rate of corals; 0 builds no reef.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0
   */
  reef?: number;
  /**
   * Depth of the ground on which the outer edge of a reef stands: greater where land sank while corals grew.
   *
   * Allowed: 1 to 2000 m.
   * @default 30
   */
  foot?: number;
  /**
   * Width of the water that corals leave free in front of the land.
   *
   * Allowed: 0 to 100000 m.
   * @default 250
   */
  lagoon?: number;
}

/** Water from springs, drops and rain flows from cell to cell, erodes channels and deposits fans. */
export interface FluvialParameters {
  /**
   * Time for which water runs, which also sets the number of steps.
   *
   * Allowed: 0 to 1000000000 s.
   * @default 7200
   */
  duration?: number;
  /**
   * Total number of steps, instead of a duration; 0 uses the duration.
   *
   * Allowed: a whole number from 0 to 1000000.
   * @default 0
   */
  steps?: number;
  /**
   * Speed at which water runs from cell to cell, which sets the time that a step stands for. Slow water from the same springs becomes deeper.
   *
   * Allowed: 0.001 to 1000 m/s.
   * @default 1
   */
  velocity?: number;
  /**
   * Rain over all land, times the layer `rain` where there is one: it makes rills everywhere, and more where waters meet. If `drop` is given and `rain` is not, there is no rain.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 20
   */
  rain?: number;
  /**
   * Evaporation from wet cells: dries films and puddles, and ends thin streams.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 0
   */
  evaporation?: number;
  /**
   * Water of a single drop, poured before the first step; 0 pours none.
   *
   * Allowed: 0 to 1000000000000 m³.
   * @default 0
   */
  drop?: number;
  /**
   * Where the drop falls, eastward from the world's north-western corner.
   *
   * Allowed: 0 to 100000000 m.
   * @default 0
   */
  x?: number;
  /**
   * Where the drop falls, southward from the world's north-western corner.
   *
   * Allowed: 0 to 100000000 m.
   * @default 0
   */
  y?: number;
  /**
   * Thickness of ground that the drop erodes where it falls, down to the floor at most.
   *
   * Allowed: 0 to 16000 m.
   * @default 0
   */
  pickup?: number;
  /**
   * Kc, the sediment that moving water can carry, as a share of the water: higher values erode deeper before anything is deposited.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  capacity?: number;
  /**
   * Kd, the share of the sediment over capacity that is deposited in a step: lower values carry it farther, into flatter fans.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  deposition?: number;
  /**
   * Ks, the share of the missing sediment that is eroded in a step: the softness of the ground.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  softness?: number;
  /**
   * Which neighbours receive a cell's water.
   *
   * Allowed: one of all, lowest, lowest_ground.
   * @default "all"
   */
  receivers?: "all" | "lowest" | "lowest_ground";
  /**
   * How much of the difference in water levels moves.
   *
   * Allowed: one of share, full.
   * @default "share"
   */
  moves?: "share" | "full";
  /**
   * Which water determines the transport capacity.
   *
   * Allowed: one of moved, whole, fall.
   * @default "moved"
   */
  capacity_from?: "moved" | "whole" | "fall";
  /**
   * True if a cell may be eroded below the ground that its water flows to, as in Craig's document: springs then dig shafts.
   *
   * Allowed: true or false.
   * @default false
   */
  pits?: boolean;
  /**
   * Elevation below which no cell is eroded.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
}

/** Rain flows as shallow water through pipes between cells and erodes: channels, lakes, fans. */
export interface PipesParameters {
  /**
   * Simulated time of the flow, not of landscape evolution; for the erosion of ages, use higher rates.
   *
   * Allowed: 0 to 10000000 s.
   * @default 900
   */
  seconds?: number;
  /**
   * Longest time step; with 0 only the stability limit counts, which always applies.
   *
   * Allowed: 0 to 3600 s.
   * @default 0
   */
  dt?: number;
  /**
   * Cross-section of the pipes: growing with depth, as in nature, or constant.
   *
   * Allowed: one of depth, constant.
   * @default "depth"
   */
  area?: "depth" | "constant";
  /**
   * Cross-section of a constant pipe: waves travel at √(g·pipe_area/pipe_length), whatever the depth.
   *
   * Allowed: 0.001 to 1000000 m².
   * @default 20
   */
  pipe_area?: number;
  /**
   * Length of a constant pipe; 0 takes the cell width.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  pipe_length?: number;
  /**
   * Depth beyond which a pipe does not grow further: a greater value is more accurate in deep lakes and needs shorter time steps.
   *
   * Allowed: 0.01 to 1000 m.
   * @default 10
   */
  deepest?: number;
  /**
   * Manning's n of the bed: over a rougher bed water is deeper and slower; with 0 it accelerates without limit.
   *
   * Allowed: 0 to 1 s/m^(1/3).
   * @default 0.035
   */
  roughness?: number;
  /**
   * Rain intensity while it rains.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 100
   */
  rain?: number;
  /**
   * How rain is distributed over the cells.
   *
   * Allowed: one of even, random.
   * @default "even"
   */
  shower?: "even" | "random";
  /**
   * Time from the beginning of one storm to that of the next; 0 gives steady rain.
   *
   * Allowed: 0 to 10000000 s.
   * @default 0
   */
  storm_period?: number;
  /**
   * Part of each period during which it rains.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  storm_share?: number;
  /**
   * Radius of the rain cloud; each storm has its own cloud at another place. With 0 rain falls over the whole map.
   *
   * Allowed: 0 to 1000000 m.
   * @default 0
   */
  storm_radius?: number;
  /**
   * Speed at which the cloud moves.
   *
   * Allowed: 0 to 100 m/s.
   * @default 8
   */
  storm_speed?: number;
  /**
   * Share of the water that evaporates in a second.
   *
   * Allowed: 0 to 1 1/s.
   * @default 0.0001
   */
  evaporation?: number;
  /**
   * If true, the ground below `lake_level` is under water at the start.
   *
   * Allowed: true or false.
   * @default false
   */
  lake?: boolean;
  /**
   * Level of the water at the start, if `lake` is true.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  lake_level?: number;
  /**
   * Sediment, as a thickness in metres, that water at 1 m/s carries down a vertical wall: more carves deeper and builds larger fans.
   *
   * Allowed: 0 to 100 s.
   * @default 0.3
   */
  capacity?: number;
  /**
   * Least sin α in the transport capacity: it lets rivers carry sediment over flat ground.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  min_slope?: number;
  /**
   * Depth from which on water has its full transport capacity; thin sheets of rain water erode less.
   *
   * Allowed: 0 to 100 m.
   * @default 0.5
   */
  ramp?: number;
  /**
   * Share of the unused transport capacity that is eroded from sediment in a second.
   *
   * Allowed: 0 to 100 1/s.
   * @default 0.1
   */
  erosion?: number;
  /**
   * Erosion of bedrock, as a share of that of sediment.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  rock?: number;
  /**
   * Share of the load above the transport capacity that is deposited in a second: less carries it farther.
   *
   * Allowed: 0 to 100 1/s.
   * @default 0.1
   */
  deposition?: number;
  /**
   * How suspended sediment moves.
   *
   * Allowed: one of donor, backward.
   * @default "donor"
   */
  transport?: "donor" | "backward";
  /**
   * If true, the water's velocity is written as layers.
   *
   * Allowed: true or false.
   * @default false
   */
  velocity?: boolean;
}

/** Drops of rain form meandering streams and lakes that fill and spill. */
export interface HydrologyParameters {
  /**
   * Length that the other parameters refer to, the cell width of the article; 0 uses the grid's cell.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  stride?: number;
  /**
   * How drops move, and how much they carry.
   *
   * Allowed: one of momentum, stream.
   * @default "momentum"
   */
  rules?: "momentum" | "stream";
  /**
   * Total number of drops that fall on each cell: more erode longer.
   *
   * Allowed: 0 to 1000 1/cell.
   * @default 2
   */
  drops?: number;
  /**
   * Drops that fall on each cell in a batch.
   *
   * Allowed: 0.00001 to 1 1/cell.
   * @default 0.0078125
   */
  batch?: number;
  /**
   * Rain, times the layer `rain` where there is one.
   *
   * Allowed: 0.001 to 20 m/a.
   * @default 1
   */
  rain?: number;
  /**
   * Time in which all the rain falls, which determines the water of the lakes. Erosion is that of a far longer time.
   *
   * Allowed: 0.001 to 10000 a.
   * @default 20
   */
  years?: number;
  /**
   * Share of the rain that the lowest land does not receive, where the highest receives all of it.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  orographic?: number;
  /**
   * Mean intensity of rain while it rains, which determines the share that infiltrates into soils.
   *
   * Allowed: 0.001 to 1000 mm/h.
   * @default 10
   */
  storm?: number;
  /**
   * Time step of the rule set `stream`: strides that a drop of speed 1 moves.
   *
   * Allowed: 0.01 to 10.
   * @default 1.2
   */
  dt?: number;
  /**
   * Density of water: heavier drops change direction more slowly.
   *
   * Allowed: 0.01 to 100.
   * @default 1
   */
  density?: number;
  /**
   * Share of the speed lost over a stride.
   *
   * Allowed: 0 to 0.99.
   * @default 0.15
   */
  friction?: number;
  /**
   * Share of the friction that a full stream removes.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  stream_friction?: number;
  /**
   * Share of a drop that evaporates over a stride.
   *
   * Allowed: 0 to 0.5.
   * @default 0.001
   */
  evaporation?: number;
  /**
   * Share of the evaporation that a full stream removes.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  stream_evaporation?: number;
  /**
   * Water that evaporates from lakes: more makes closed lakes smaller.
   *
   * Allowed: 0 to 20 m/a.
   * @default 0.6
   */
  lake_evaporation?: number;
  /**
   * Share of the difference to the transport capacity that is eroded or deposited over a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  deposition?: number;
  /**
   * How much more a full stream can carry: 1 doubles the capacity.
   *
   * Allowed: 0 to 1000.
   * @default 10
   */
  entrainment?: number;
  /**
   * How strongly streams draw drops along: more gives wide meanders.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  momentum?: number;
  /**
   * Discharge Q₁ at which the stream share σ is 1 − 1/e = 0.63: lower values make small streams count as full. 0 uses the discharge of `rain` on about 920 squares of `stride`.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 0
   */
  stream_discharge?: number;
  /**
   * Drops per cell after which old values count a third (1/e) in the maps of discharge and momentum.
   *
   * Allowed: 0.001 to 100 1/cell.
   * @default 0.1
   */
  memory?: number;
  /**
   * Share of a whole drop's water below which a drop ends.
   *
   * Allowed: 0.0001 to 0.9.
   * @default 0.01
   */
  min_volume?: number;
  /**
   * Number of times that a drop without a path down starts again.
   *
   * Allowed: a whole number from 0 to 100.
   * @default 5
   */
  spill?: number;
  /**
   * Length of the path without a new lowest elevation after which a drop has found no path down.
   *
   * Allowed: 1 to 100000 m.
   * @default 300
   */
  patience?: number;
  /**
   * Share of its load that a drop deposits over a stride under water.
   *
   * Allowed: 0.001 to 1.
   * @default 0.2
   */
  settling?: number;
  /**
   * Steepest angle of banks.
   *
   * Allowed: 1 to 89 °.
   * @default 36
   */
  talus?: number;
  /**
   * Steepest angle of ground under water: the slope of delta fronts.
   *
   * Allowed: 0.1 to 89 °.
   * @default 8
   */
  wet_talus?: number;
  /**
   * Share of a bank's excess height above its steepest angle that slides when a drop passes; 1 brings it to that angle.
   *
   * Allowed: 0 to 1.
   * @default 0.8
   */
  slide?: number;
  /**
   * Depth of the deepest dry pit in a stream bed that water levels.
   *
   * Allowed: 0 to 1000 m.
   * @default 10
   */
  grading?: number;
  /**
   * Drops per cell after which a third (1/e) of the water above a lowered sill is left; 0 releases it at once.
   *
   * Allowed: 0 to 10 1/cell.
   * @default 0.03
   */
  release?: number;
  /**
   * Years that a forest lives next to the water, spread over the batches; 0 grows none.
   *
   * Allowed: 0 to 10000 a.
   * @default 0
   */
  forest?: number;
  /**
   * Side of the square of ground that a plant's roots stabilise.
   *
   * Allowed: 0.1 to 1000 m.
   * @default 10
   */
  tree_patch?: number;
  /**
   * Discharge above which no plant stands.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 0.05
   */
  tree_stream?: number;
  /**
   * Elevation of the tree line above the sea.
   *
   * Allowed: 0 to 16000 m.
   * @default 1800
   */
  tree_line?: number;
  /**
   * Elevation below which no cell is eroded.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
}

/** Grows a forest of single plants on suitable sites; their roots stabilise the soil. */
export interface TreesParameters {
  /**
   * Number of years that the forest grows: after a few years there are clumps around the first plants, after a few hundred the forest is closed.
   *
   * Allowed: a whole number from 1 to 100000 a.
   * @default 300
   */
  years?: number;
  /**
   * Seeds from elsewhere on each km² in a year: more seeds close the forest sooner and mix its kinds.
   *
   * Allowed: 0 to 10000 1/(km²·a).
   * @default 20
   */
  spawn?: number;
  /**
   * Share of the missing size that a plant grows in a year.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.05
   */
  grow?: number;
  /**
   * Probability that a plant sheds a seed in a year; it sets how fast clumps spread.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.02
   */
  seed?: number;
  /**
   * Greatest distance that a seed flies along either axis: a greater distance spreads the forest faster, with softer edges.
   *
   * Allowed: 0 to 10000 m.
   * @default 20
   */
  spread?: number;
  /**
   * Probability that a plant dies in a year: more deaths leave more gaps and younger plants.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.001
   */
  death?: number;
  /**
   * Root density at which no more plants take root; 1 holds the ground completely. A lower value gives an open wood.
   *
   * Allowed: 0.01 to 100.
   * @default 1
   */
  cap?: number;
  /**
   * Side of the square of ground that a plant's roots hold: with wider patches there are fewer plants.
   *
   * Allowed: 0.1 to 1000 m.
   * @default 5
   */
  patch?: number;
  /**
   * Elevation above the sea at which conifers end; the elevation belts of the other kinds scale with it.
   *
   * Allowed: 1 to 16000 m.
   * @default 1800
   */
  tree_line?: number;
  /**
   * Discharge above which no plant grows in a cell: a lower value keeps smaller streams free of plants.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 0.05
   */
  stream?: number;
  /**
   * Greatest depth of water, in the layer `water`, in which plants can grow.
   *
   * Allowed: 0 to 1000 m.
   * @default 0.05
   */
  wading?: number;
  /**
   * Transmissivity of the soil: a lower value makes the ground moister, which suits willows.
   *
   * Allowed: 0.00000001 to 1 m²/s.
   * @default 0.0002
   */
  transmissivity?: number;
  /**
   * Rain that runs off; used where no discharge is given.
   *
   * Allowed: 0 to 100 m/a.
   * @default 1
   */
  rain?: number;
  /**
   * Depth above which a depression counts as a lake, where no pools are given; no plants grow in lakes.
   *
   * Allowed: 0 to 32000 m.
   * @default 1
   */
  lake_depth?: number;
  /**
   * Weight of conifers among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  conifer?: number;
  /**
   * Weight of broadleaved trees among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  broadleaf?: number;
  /**
   * Weight of willows among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  willow?: number;
  /**
   * Weight of dwarf pines among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  dwarf_pine?: number;
  /**
   * Weight of shrubs among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 0.5
   */
  shrub?: number;
  /**
   * Weight of reeds among the seeds from elsewhere; with 0 none take root.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  reed?: number;
}

/** Adds rivers and lakes to a terrain: smooth lines that follow it and are carved into it. */
export interface RiverNetworkParameters {
  /**
   * Drainage area from which on there is a river: less gives more and smaller ones. At least 16 cells are always required.
   *
   * Allowed: 0 to 1000000 km².
   * @default 1
   */
  catchment?: number;
  /**
   * Water that runs off in a year: more makes wider and deeper rivers.
   *
   * Allowed: 0 to 20 m/a.
   * @default 0.5
   */
  runoff?: number;
  /**
   * Greatest depth of a channel that is cut to drain a depression.
   *
   * Allowed: 0 to 16000 m.
   * @default 12
   */
  breach_depth?: number;
  /**
   * Greatest straight-line distance from the pit that a channel that drains a depression may reach.
   *
   * Allowed: 0 to 1000000 m.
   * @default 1000
   */
  breach_length?: number;
  /**
   * Roughness of the ground that has no influence on where rivers run.
   *
   * Allowed: 0 to 1000 m.
   * @default 2
   */
  noise?: number;
  /**
   * Depth from which on a remaining depression is a lake.
   *
   * Allowed: 0 to 1000 m.
   * @default 2
   */
  lake?: number;
  /**
   * Width of a river with a discharge of 1 m³/s.
   *
   * Allowed: 0 to 1000 m.
   * @default 7.2
   */
  width?: number;
  /**
   * Depth of a river with a discharge of 1 m³/s.
   *
   * Allowed: 0 to 100 m.
   * @default 0.27
   */
  depth?: number;
  /**
   * How far rivers meander, as a factor: 0 not at all, 1 as usual in nature.
   *
   * Allowed: 0 to 3.
   * @default 1
   */
  meander?: number;
  /**
   * Width of floodplains on either side, as a factor on the usual width: 0 makes none.
   *
   * Allowed: 0 to 10.
   * @default 1
   */
  floodplain?: number;
  /**
   * Height of levees beside meandering rivers, as a share of their depth: 0 makes none.
   *
   * Allowed: 0 to 2.
   * @default 0
   */
  levees?: number;
  /**
   * Slope of banks beyond floodplains, as rise over run: less cuts valleys with gentler sides.
   *
   * Allowed: 0.05 to 10.
   * @default 0.5
   */
  bank?: number;
  /**
   * Slope of a river, as fall over run, above which it is cut back in soft rock.
   *
   * Allowed: 0 to 10.
   * @default 0.5
   */
  fall?: number;
  /**
   * Greatest depth of a cut that makes such a fall gentler.
   *
   * Allowed: 0 to 1000 m.
   * @default 15
   */
  grading?: number;
  /**
   * Discharge from which on a gentle river divides into arms at the sea; with 0 none does.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 5
   */
  delta?: number;
  /**
   * How many times its own width a gentle river gains at the sea.
   *
   * Allowed: 0 to 20.
   * @default 2
   */
  estuary?: number;
  /**
   * How rivers are found. With `sampled` the parameters above have no effect; with `drainage` those below have none.
   *
   * Allowed: one of drainage, sampled.
   * @default "drainage"
   */
  method?: "drainage" | "sampled";
  /**
   * Least distance r between two sampled points; where points are closest, it is at least four cells.
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  spacing?: number;
  /**
   * How much closer sampled points are on steep ground, as a share of the distance.
   *
   * Allowed: 0 to 0.75.
   * @default 0
   */
  closeness?: number;
  /**
   * The factor C on the cost of climbs: more keeps rivers from climbing, at the price of long detours.
   *
   * Allowed: 1 to 1000.
   * @default 2
   */
  climb?: number;
  /**
   * Number of sampled points at which rivers begin, in addition to springs; 0 takes all.
   *
   * Allowed: a whole number from 0 to 1000000.
   * @default 0
   */
  sources?: number;
  /**
   * Which sampled points rivers begin at, if `sources` is not 0.
   *
   * Allowed: one of any, highest.
   * @default "any"
   */
  source?: "any" | "highest";
}

/** A river builds land into the sea: levees, arms, bays and lobes. */
export interface DeltaParameters {
  /**
   * Time for which the river builds its delta.
   *
   * Allowed: 0 to 10000000 a.
   * @default 3000
   */
  years?: number;
  /**
   * Time step, after which beds, bars, levees and arms are updated.
   *
   * Allowed: 0.01 to 100000 a.
   * @default 10
   */
  step?: number;
  /**
   * Discharge of the river: more gives wider and deeper arms.
   *
   * Allowed: 0.01 to 1000000 m³/s.
   * @default 800
   */
  discharge?: number;
  /**
   * Sediment that the river supplies: more makes the delta grow faster.
   *
   * Allowed: 0 to 10000000000 m³/a.
   * @default 2000000
   */
  sediment?: number;
  /**
   * Where the river enters, from west (0) to east (1).
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  inlet_x?: number;
  /**
   * Where the river enters, from north (0) to south (1).
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  inlet_y?: number;
  /**
   * Slope of the water surface on the plain.
   *
   * Allowed: 0 to 0.1 m/m.
   * @default 0.0002
   */
  slope?: number;
  /**
   * Slope of the delta's front under water.
   *
   * Allowed: 0.0001 to 1 m/m.
   * @default 0.015
   */
  front?: number;
  /**
   * Height of levees above the water.
   *
   * Allowed: 0 to 50 m.
   * @default 1.8
   */
  levee?: number;
  /**
   * Distance from the bank over which levees fall to a third of their height.
   *
   * Allowed: 0 to 100000 m.
   * @default 500
   */
  reach?: number;
  /**
   * Largest share of the sediment that settles next to the channels.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  overbank?: number;
  /**
   * Time from one avulsion to the next: shorter times make more lobes.
   *
   * Allowed: 0.01 to 10000000 a.
   * @default 150
   */
  avulsion?: number;
  /**
   * Height of the unevenness that makes the river's path wind.
   *
   * Allowed: 0 to 100 m.
   * @default 2
   */
  wander?: number;
  /**
   * Width of that unevenness, and wavelength of the fastest growing meanders.
   *
   * Allowed: 1 to 1000000 m.
   * @default 2200
   */
  wavelength?: number;
  /**
   * Migration rate of a meander whose radius equals the channel width.
   *
   * Allowed: 0 to 10000 m/a.
   * @default 2
   */
  migration?: number;
}

/** Opens an outlet for every depression: cuts through or fills small ones, keeps deep ones as lakes. */
export interface OutletsParameters {
  /**
   * Least depth, at the deepest place, of a depression or of standing water that counts as a lake.
   *
   * Allowed: 0 to 16000 m.
   * @default 2
   */
  lake?: number;
  /**
   * Least area of a lake.
   *
   * Allowed: 0 to 1000000000000 m².
   * @default 20000
   */
  lake_area?: number;
}

/** Applies the user's strokes, which raise, lower, smooth and paint; it does nothing else. */
export interface ManualParameters {
}
