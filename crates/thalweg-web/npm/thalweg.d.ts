// Generated from the declarations by `cargo xtask book`.

/** Where the module is: an address, a response, or its bytes. Left out, it lies beside this file. */
export type ModuleSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/** Loads the module; all else waits for that. */
export default function init(
  source?: { module_or_path: ModuleSource | Promise<ModuleSource> },
): Promise<unknown>;

/** Loads the module from its bytes at once, as Node does. */
export function initSync(source: { module: BufferSource | WebAssembly.Module }): unknown;

/** Version of the library. */
export function version(): string;

/** Threads that share the work: 1, or as many as `initThreadPool` of `thalweg/threads` made. */
export function threads(): number;

/**
 * Lets work take so many bytes of memory from now on; 1 GiB if never said. What would take more is refused before it begins.
 *
 * @param bytes 0 to 4294967296.
 */
export function allowMemory(bytes: number): void;

/** Name of a model. */
export type ModelName = keyof Parameters;

/** Numbers row by row from the north. */
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

/** Ground of one's own. */
export interface Land {
  /** Metres, row by row from the north; NaN is no data. */
  heights: Numbers;
  /** Rows. */
  rows: number;
  /** Columns. */
  cols: number;
  /** Metres from cell to cell. */
  cellSize: number;
  /** A height that means no data. */
  nodata?: number;
  /** Sea level in metres. */
  seaLevel?: number;
  /** What becomes of water and sediment at the edges. */
  edges?: "open" | "closed" | "looped";
  /** Layers by name, such as `hardness`. */
  layers?: Record<string, Numbers>;
}

/** A terrain: heights, layers, and what is known of how it was made. It does not change. */
export class Terrain {
  /** A terrain over heights of one's own. */
  constructor(land: Land);
  /** Rows. */
  readonly rows: number;
  /** Columns. */
  readonly cols: number;
  /** Metres from cell to cell. */
  readonly cellSize: number;
  /** World row and column of the first cell. */
  readonly origin: Float64Array;
  /** Sea level in metres. */
  readonly seaLevel: number | undefined;
  /** Number of cells without data. */
  readonly nodataCount: number;
  /** Lowest and highest ground in metres. */
  readonly range: Float64Array | undefined;
  /** Names of the layers. */
  readonly layers: string[];
  /** The recipe that it was made by, as TOML, every parameter spelt out. */
  readonly recipe: string | undefined;
  /** The report of the run that made it (docs/report.schema.json). */
  readonly report: Record<string, unknown> | undefined;
  /** Heights in metres, exact; NaN where there is no data. */
  heights(): Float64Array;
  /** Heights in metres, rounded to 24 bits, as a GPU takes them. */
  heightsF32(): Float32Array;
  /** The values of a layer: heights and depths as Float64Array, reals as Float32Array, counts as Uint32Array. */
  layer(name: string): Float64Array | Float32Array | Uint32Array;
  /** Fingerprint of each layer and table: the command's reports have the same. */
  fingerprints(): Record<string, string>;
  /** Gives its memory back at once; left out, that is done when nothing holds it. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Where a run stands after a step. */
export interface Progress {
  /** Label of the stage. */
  stage: string;
  /** The level, and how many there are. */
  level: number;
  levels: number;
  /** Step of the stage on this level, and how many it takes there. */
  step: number;
  steps: number;
  /** Steps done of all. */
  done: number;
  of: number;
}

/** Options of `build`. */
export interface BuildOptions {
  /** Cells on the long side. */
  cells?: number;
  /** The world's seed; a BigInt beyond 2^53. */
  seed?: number | bigint;
  /** Label of the last stage that is run. */
  until?: string;
  /** Parameters of stages, by label and name. */
  set?: Record<string, Record<string, number | boolean | string>>;
  /** Is told every step; false ends the run with an error. */
  progress?: (progress: Progress) => boolean | void;
}

/**
 * Builds the world of a preset or of a recipe (TOML): the bits that the command has.
 *
 * @throws Error with the library's sentence.
 */
export function build(recipe: PresetName | (string & {}), options?: BuildOptions): Terrain;

/** Runs one model over a terrain. */
export function apply<M extends ModelName>(
  model: M,
  terrain: Terrain,
  parameters?: Parameters[M],
  options?: { seed?: number | bigint; progress?: (progress: Progress) => boolean | void },
): Terrain;

/** A reach of a stream. */
export interface Reach {
  id: number;
  /** Strahler's order. */
  order: number;
  /** Shreve's magnitude. */
  magnitude: number;
  /** Metres along it. */
  length: number;
  /** Metres down it. */
  drop: number;
  slope: number;
  /** Catchment in m² where it ends. */
  catchment: number;
  /** Number of the reach that it runs into. */
  into: number | null;
  /** Its cells, row and column by turns. */
  cells: Uint32Array;
}

/** Where water goes, cell by cell, row by row from the north. */
export interface Drainage {
  /** Heights with depressions full, metres. */
  filled: Float64Array;
  /** Depth of depressions, metres. */
  lakeDepth: Float64Array;
  /** Depth of channels that were cut, where `breach` was given, metres. */
  cut?: Float64Array;
  /** The neighbour that a cell drains to: 1 east, 2 south-east, and on clockwise to 128; 0 for none (ESRI's codes). */
  directions: Uint8Array;
  /** Steepest way down by D∞, radians anticlockwise from east; below 0 where there is none. */
  angles: Float32Array;
  /** Cells that drain through a cell, itself among them. */
  cells: Uint32Array;
  /** Numbers of basins from 1 on; 0 without data. */
  basins: Uint32Array;
  /** Strahler's orders of streams; 0 where there is none. */
  orders: Uint32Array;
  reaches: Reach[];
  /** What was found in numbers, as in the command's drain.json. */
  summary: Record<string, unknown>;
}

/** Works out the drainage of a terrain. */
export function drain(
  terrain: Terrain,
  options?: {
    /** Catchment in m² from which on there is a stream. */
    threshold?: number;
    /** Cells, row and column, where water leaves. */
    outlets?: [number, number][];
    /** Channels are cut out of depressions within so many metres of depth and length before the rest is filled. */
    breach?: { depth: number; length: number };
    /** Receives the name of each phase when it begins; false ends the call with an error. */
    progress?: (phase: string) => boolean | void;
  },
): Drainage;

/** What covers a terrain, sample by sample. */
export interface Textures {
  rows: number;
  cols: number;
  /** Metres from sample to sample. */
  cellSize: number;
  /** What `weights` are of, in their order. */
  materials: Material[];
  /** What the weights of a sample sum to. */
  full: number;
  /** A weight for each material, sample by sample. */
  weights: Uint8Array | Uint16Array;
  /** Colour without light: red, green, blue (sRGB), 255. */
  albedo: Uint8ClampedArray;
  /** 0 smooth to 1 rough. */
  roughness: Float32Array;
  /** Share of the sky that ground sees. */
  occlusion: Float32Array;
  /** Mean curvature in 1/m, above 0 on crests. */
  curvature: Float32Array;
  /** Unit vector east and south, and speed in m/s, of water. */
  flow: Float32Array;
  /** Metres of loose ground, where the terrain knows of such. */
  deposit?: Float32Array;
}

/** Textures of a terrain, by the rules of its recipe. */
export function textures(
  terrain: Terrain,
  options?: {
    /** Samples on the longer side; the terrain's own if not said. */
    size?: number;
    /** Bits of a weight. */
    bits?: 8 | 16;
    /** As seen from the air: forest is a cover of its own. */
    fromAir?: boolean;
  },
): Textures;

/** A world of any size: any tile of any level, made as it is asked for, the same bits in any order. */
export class World {
  constructor(
    recipe: PresetName | (string & {}),
    options?: {
      seed?: number | bigint;
      /** Cells of a tile's side, 16 to 4096. */
      tile?: number;
    },
  );
  /** The first and the last zoom of a web map of it. */
  readonly zooms: Uint32Array;
  /** Width of a level's cells in metres. */
  width(level: number): number;
  /** First row and column of a level, and those after the last. */
  bounds(level: number): Float64Array;
  /** The tile of a level that holds a place in world metres, eastward and southward; false from `progress` ends it with an error. */
  tile(
    level: number,
    x: number,
    y: number,
    progress?: (progress: { stage: string; done: number; of: number }) => boolean | void,
  ): Terrain;
  /** Height of the ground at a place, in metres. */
  heightAt(level: number, x: number, y: number): number;
  /** What a web map must know of its tiles, which lie under `base` (TileJSON 3). */
  describe(base: string): Record<string, unknown>;
  /**
   * A tile of the web map (EPSG:3857, 256 pixels) as a PNG: heights in Mapbox's encoding, −10000 m + 0.1 m · (65536 R + 256 G + B),
   * in Terrarium's, or light. Nothing where there is no tile.
   */
  png(
    zoom: number,
    column: number,
    row: number,
    encoding?: "terrain-rgb" | "terrarium" | "hillshade",
  ): Uint8Array<ArrayBuffer> | undefined;
  free(): void;
  [Symbol.dispose](): void;
}

/** A recipe that comes with the library. */
export interface Preset {
  name: PresetName;
  /** A paragraph about the landform. */
  about: string;
  /** Cells on the long side. */
  cells: number;
  /** Its text, TOML. */
  recipe: string;
}

/** The presets, the first being the one to begin with. */
export function presets(): Preset[];

/** A layer that a model needs, heeds or leaves. */
export interface LayerSpec {
  name: string;
  unit: string;
  meaning: string;
}

/** The declaration of a model. */
export interface ModelPage {
  name: ModelName;
  summary: string;
  /** What happens to the ground, formula, source, where it breaks. */
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
  needs: LayerSpec[];
  uses: LayerSpec[];
  writes: LayerSpec[];
}

/** The declarations of all models. */
export function models(): ModelPage[];

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
   * Height of hills: three standard deviations of fbm, the whole range of the others; below 0 turned upside down.
   *
   * Allowed: -16000 to 16000 m.
   * @default 1200
   */
  amplitude?: number;
  /**
   * Distance from one great hill to the next.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 9000
   */
  wavelength?: number;
  /**
   * Number of octaves: each adds finer hills, as far as the grid carries them.
   *
   * Allowed: 1 to 24, whole.
   * @default 12
   */
  octaves?: number;
  /**
   * Share of the height that the next finer octave keeps (persistence): more is rougher.
   *
   * Allowed: 0 to 1.
   * @default 0.47
   */
  gain?: number;
  /**
   * Factor by which hills shrink from one octave to the next.
   *
   * Allowed: 1.1 to 8.
   * @default 2
   */
  lacunarity?: number;
  /**
   * Ridged: size of the noise, about 0 to 1, at which ground is lowest; lower makes narrow ridges with second crests between.
   *
   * Allowed: 0.1 to 4.
   * @default 1
   */
  ridge_offset?: number;
  /**
   * Ridged: factor by which the height of an octave lets in the next one; low leaves valleys and flanks smooth.
   *
   * Allowed: 0 to 100.
   * @default 2
   */
  ridge_gain?: number;
  /**
   * How much steep slopes lose of finer octaves: erosion-like smooth flanks.
   *
   * Allowed: 0 to 1000.
   * @default 0.1
   */
  damping?: number;
  /**
   * How far points are carried aside: bends ridges and hills (three standard deviations; at most 262144 cells).
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  warp?: number;
  /**
   * Distance over which the warp turns.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 8000
   */
  warp_wavelength?: number;
  /**
   * Added to all: the mean elevation of fbm, the floor of the others.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Bowls, peaks or blocks shaped by the distance to scattered points. */
export interface CellularNoiseParameters {
  /**
   * Which distance: bowls between crests (f1), wider ones (f2), or blocks between valleys (f2_minus_f1).
   *
   * Allowed: one of f1, f2, f2_minus_f1.
   * @default "f1"
   */
  distance?: "f1" | "f2" | "f2_minus_f1";
  /**
   * Rise of the ground over a distance of one wavelength from a point; below 0 turns bowls into peaks.
   *
   * Allowed: -16000 to 16000 m.
   * @default -1300
   */
  amplitude?: number;
  /**
   * Mean distance between points: how far apart peaks or bowls stand.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 4500
   */
  wavelength?: number;
  /**
   * How irregularly points stand: at 0 in the middles of their squares, at 1 anywhere in them.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  jitter?: number;
  /**
   * Number of octaves: each adds cells of half the size.
   *
   * Allowed: 1 to 24, whole.
   * @default 7
   */
  octaves?: number;
  /**
   * Share of the height that the next finer octave keeps.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  gain?: number;
  /**
   * How far points of the ground are carried aside: bends the straight crests (three standard deviations).
   *
   * Allowed: 0 to 1000000 m.
   * @default 700
   */
  warp?: number;
  /**
   * Distance over which the warp turns.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 5000
   */
  warp_wavelength?: number;
  /**
   * Added to all: the elevation at the points.
   *
   * Allowed: -16000 to 16000 m.
   * @default 900
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Rough ground by repeated subdivision of squares, with a roughness. */
export interface DiamondSquareParameters {
  /**
   * Largest displacement on the first level: the height of the land.
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
   * Hurst's H: how fast displacements fall; low is rough, high is smooth.
   *
   * Allowed: 0 to 2.
   * @default 1
   */
  roughness?: number;
  /**
   * Added to all.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Rough ground by repeated subdivision: edges from their ends, squares from their corners. */
export interface MidpointDisplacementParameters {
  /**
   * Largest displacement on the first level: the height of the land.
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
   * Hurst's H: how fast displacements fall; low is rough, high is smooth.
   *
   * Allowed: 0 to 2.
   * @default 0.85
   */
  roughness?: number;
  /**
   * Added to all.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Periodic hills from waves that shrink by a power of their frequency. */
export interface FourierSynthesisParameters {
  /**
   * How fast waves shrink with frequency: 1.25 rough, 2 hills, 3 swells.
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
   * Whether sizes of waves scatter around the law.
   *
   * Allowed: one of normal, exact.
   * @default "normal"
   */
  spectrum?: "normal" | "exact";
  /**
   * Added to all: the mean elevation.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Ground broken again and again along straight lines, each step lower than the one before. */
export interface FaultFormationParameters {
  /**
   * Number of faults: few leave scarps, many make hills.
   *
   * Allowed: 1 to 20000, whole.
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
   * Share by which the last scarp is lower than the first: 1 lets steps fall to nothing.
   *
   * Allowed: 0 to 1.
   * @default 0.95
   */
  decay?: number;
  /**
   * Breadth of a scarp; 0 is sheer, much is smooth hills.
   *
   * Allowed: 0 to 10000000 m.
   * @default 700
   */
  width?: number;
  /**
   * Added to all.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A plane, cone, dome, crater, island, ridge or outlet. */
export interface ShapeParameters {
  /**
   * Which shape.
   *
   * Allowed: one of plane, cone, dome, crater, island, ridge, outlet.
   * @default "island"
   */
  kind?: "plane" | "cone" | "dome" | "crater" | "island" | "ridge" | "outlet";
  /**
   * Height of the middle, of a crater's rim, of a ridge's crest, or of an outlet's middle before its cone is sunk.
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
   * How far the shape reaches; 0 takes half the shorter side of the map.
   *
   * Allowed: 0 to 10000000 m.
   * @default 0
   */
  radius?: number;
  /**
   * Where the centre lies from the map's west (0) to its east (1); it may lie outside.
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_x?: number;
  /**
   * Where the centre lies from the map's north (0) to its south (1); it may lie outside.
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_y?: number;
  /**
   * Plane: where it rises to; ridge: where it runs to; clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 0
   */
  azimuth?: number;
  /**
   * Plane: angle of its slope; outlet: that of the land around it.
   *
   * Allowed: 0 to 80 °.
   * @default 2
   */
  tilt?: number;
  /**
   * How far chance, drawn from the world's seed, turns the shape about the middle of the extent: its azimuth, and its centre along the sides of a rectangle; 1 is anywhere, 0 not at all.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  turn?: number;
  /**
   * Added to all.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A volcano as lava built it: rift zones, cones along them, a caldera, a fallen flank. */
export interface VolcanoParameters {
  /**
   * Height of the summit over the volcano's foot.
   *
   * Allowed: 0 to 16000 m.
   * @default 2000
   */
  height?: number;
  /**
   * How far the flanks reach from the axes.
   *
   * Allowed: 1 to 10000000 m.
   * @default 6000
   */
  radius?: number;
  /**
   * Number of rift zones: 1 or 2 make a long ridge, 3 a star of three blunt arms.
   *
   * Allowed: 1 to 6, whole.
   * @default 2
   */
  rifts?: number;
  /**
   * Length of a rift zone in radii: longer islands.
   *
   * Allowed: 0 to 5.
   * @default 0.6
   */
  stretch?: number;
  /**
   * Towards where the first rift zone runs, clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 60
   */
  azimuth?: number;
  /**
   * How far the seed turns the axes, their gaps and lengths: 0 not at all, 1 to any side.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  wander?: number;
  /**
   * Number of small cones.
   *
   * Allowed: 0 to 1000, whole.
   * @default 24
   */
  vents?: number;
  /**
   * Radius of the greatest of them.
   *
   * Allowed: 1 to 1000000 m.
   * @default 350
   */
  vent?: number;
  /**
   * How far the caldera reaches from its middle along the first rift zone; 0 for none.
   *
   * Allowed: 0 to 1000000 m.
   * @default 700
   */
  caldera?: number;
  /**
   * How far its floor lies below the summit.
   *
   * Allowed: 0 to 16000 m.
   * @default 220
   */
  caldera_depth?: number;
  /**
   * How much of the height the scar of a fallen flank takes at its head; 0 for none.
   *
   * Allowed: 0 to 1.
   * @default 0.45
   */
  collapse?: number;
  /**
   * Where the summit lies from west (0) to east (1).
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_x?: number;
  /**
   * Where the summit lies from north (0) to south (1).
   *
   * Allowed: -10 to 10.
   * @default 0.5
   */
  centre_y?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** A continent of plates: lowlands, shelf and deep sea, and where the land rises. */
export interface PlatesParameters {
  /**
   * Mean distance between the middles of plates.
   *
   * Allowed: 1 to 100000000 m.
   * @default 470000
   */
  spacing?: number;
  /**
   * Square of the distance over which plates blend where they meet, over the spacing's square: more is broader belts.
   *
   * Allowed: 0.02 to 1.
   * @default 0.15
   */
  belt?: number;
  /**
   * How far boundaries are carried aside (three standard deviations).
   *
   * Allowed: 0 to 10000000 m.
   * @default 330000
   */
  warp?: number;
  /**
   * Distance over which the warp turns most.
   *
   * Allowed: 1 to 100000000 m.
   * @default 420000
   */
  warp_wavelength?: number;
  /**
   * How ragged coasts are: standard deviation of the noise in C.
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
   * Radius of the land, as a share of half the map's shorter side: more is more land.
   *
   * Allowed: 0.05 to 2.
   * @default 1
   */
  radius?: number;
  /**
   * Elevation of the lowlands far from the coast, before anything rises.
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
   * Standard deviation of hills and swells on the lowlands, from which the first rivers take their turns.
   *
   * Allowed: 0 to 8000 m.
   * @default 12
   */
  hills?: number;
  /**
   * Width of the rims along coasts that part the land inside from the sea.
   *
   * Allowed: 1 to 100000000 m.
   * @default 110000
   */
  rim?: number;
  /**
   * Mouths of great rivers.
   *
   * Allowed: 1 to 64, whole.
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
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** The ground of an elevation model given as a layer. */
export interface ElevationParameters {
  /**
   * Factor on the elevations: exaggerates relief.
   *
   * Allowed: -1000 to 1000.
   * @default 1
   */
  scale?: number;
  /**
   * Added to the scaled elevations.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  offset?: number;
  /**
   * How the values meet the ground.
   *
   * Allowed: one of add, replace, multiply, max, min.
   * @default "add"
   */
  blend?: "add" | "replace" | "multiply" | "max" | "min";
}

/** Says where how much rain falls: by latitude, wind and relief. */
export interface ClimateParameters {
  /**
   * Latitude of the middle of the map: where it lies in the belts.
   *
   * Allowed: -90 to 90 °.
   * @default 45
   */
  latitude?: number;
  /**
   * What winds blow by.
   *
   * Allowed: one of belts, from.
   * @default "belts"
   */
  winds?: "belts" | "from";
  /**
   * Where the wind comes from, clockwise from north, for `winds = "from"`.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  azimuth?: number;
  /**
   * How many times as much rain falls as on Earth.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  amount?: number;
  /**
   * Rain that the layer calls 1; where more falls it is 1 too.
   *
   * Allowed: 0.01 to 100 m/a.
   * @default 4
   */
  most?: number;
  /**
   * Distance over level land on which rain takes all but 1/e of the air's moisture, if none of it evaporates again.
   *
   * Allowed: 1000 to 100000000 m.
   * @default 1500000
   */
  reach?: number;
  /**
   * Share of the rain over level land that falls even where air descends: from clouds that rise where the ground is warm.
   *
   * Allowed: 0 to 1.
   * @default 0.15
   */
  least?: number;
  /**
   * Distance over sea on which dry air fills up to all but 1/e.
   *
   * Allowed: 1000 to 100000000 m.
   * @default 400000
   */
  fill?: number;
  /**
   * Height by which air must climb to lose all but 1/e of its moisture.
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
   * Width of the cells on which it is worked out; at least a 512th of the map.
   *
   * Allowed: 0.01 to 1000000 m.
   * @default 16000
   */
  stride?: number;
}

/** Land rises and rivers cut it down: branching valleys and ridges over a base level. */
export interface StreamPowerParameters {
  /**
   * Time in all, on the coarsest level: land that began as a plain is in balance after some millions.
   *
   * Allowed: 0 to 1000000000 a.
   * @default 1000000
   */
  years?: number;
  /**
   * Length of a step on the coarsest level: longer is quicker and softer.
   *
   * Allowed: 1 to 10000000 a.
   * @default 20000
   */
  step?: number;
  /**
   * Width of the coarsest level's cells: great valleys are found there; 0 works on the grid's own cells only.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  stride?: number;
  /**
   * Time that each finer level takes, as a part of the level before.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  finer_years?: number;
  /**
   * Length of each finer level's steps, as a part of the level before.
   *
   * Allowed: 0.01 to 1.
   * @default 0.6
   */
  finer_step?: number;
  /**
   * Rate at which land rises: higher mountains.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0.0005
   */
  uplift?: number;
  /**
   * How much uplift varies from region to region: the deviation of its logarithm.
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
   * How readily rivers cut rock, K: lower mountains.
   *
   * Allowed: 0 to 1 m^(1−2m)/a.
   * @default 0.000007
   */
  erodibility?: number;
  /**
   * How much erodibility varies from region to region: the deviation of its logarithm.
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
   * How many times as long as wide regions of one uplift or one erodibility are, along a strike that the seed draws: ranges and valleys run that way; 1 for all ways alike.
   *
   * Allowed: 1 to 20.
   * @default 1
   */
  fabric?: number;
  /**
   * How much more readily rock is eroded that faults have crushed: the logarithm, in the middle of a fault; 0 for none.
   *
   * Allowed: 0 to 3.
   * @default 0
   */
  faults?: number;
  /**
   * Distance from fault to fault.
   *
   * Allowed: 1 to 10000000 m.
   * @default 3000
   */
  faults_spacing?: number;
  /**
   * Width of crushed rock along a fault.
   *
   * Allowed: 1 to 100000 m.
   * @default 200
   */
  faults_width?: number;
  /**
   * How much each octave of fine grain varies erodibility, the deviation of its logarithm: ridges and gullies lose their sameness.
   *
   * Allowed: 0 to 2.
   * @default 0.5
   */
  grain?: number;
  /**
   * Distance at which fine grain begins; its octaves go down to the cell.
   *
   * Allowed: 0.01 to 1000000 m.
   * @default 100
   */
  grain_wavelength?: number;
  /**
   * Water that runs off where the layer `rain` says 1: A is then the water that drains through a cell, of which a metre a year on a square metre counts as one, and `erodibility` is that under a metre a year; 0 counts land, wherever it rains.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0
   */
  rain?: number;
  /**
   * Exponent m of area: higher gives rivers that flatten sooner downstream.
   *
   * Allowed: 0 to 2.
   * @default 0.45
   */
  area_exponent?: number;
  /**
   * Exponent n of slope: above 1 steep reaches cut back as waves, below 1 they stand.
   *
   * Allowed: 0.25 to 5.
   * @default 1
   */
  slope_exponent?: number;
  /**
   * How drainage area is counted.
   *
   * Allowed: one of multiple, d8.
   * @default "multiple"
   */
  area?: "multiple" | "d8";
  /**
   * Exponent of slope in the spreading of water: higher keeps it together.
   *
   * Allowed: 0.5 to 10.
   * @default 1.1
   */
  spread?: number;
  /**
   * Deposition G: how much of what is cut upstream settles on the way; valley floors, fans and plains.
   *
   * Allowed: 0 to 5.
   * @default 0
   */
  deposition?: number;
  /**
   * How many times as fast as rock loose ground is cut.
   *
   * Allowed: 1 to 100.
   * @default 2
   */
  loose_ease?: number;
  /**
   * Steepest angle of slopes, the same in all directions; 0 for none.
   *
   * Allowed: 0 to 89 °.
   * @default 36
   */
  slope_limit?: number;
  /**
   * How much the limit varies: the deviation of its logarithm.
   *
   * Allowed: 0 to 1.
   * @default 0.22
   */
  slope_variation?: number;
  /**
   * Distance over which the limit varies most.
   *
   * Allowed: 1 to 10000000 m.
   * @default 400
   */
  slope_wavelength?: number;
  /**
   * Creep of slopes, κ: rounder crests and heads of valleys.
   *
   * Allowed: 0 to 10 m²/a.
   * @default 0.005
   */
  diffusion?: number;
  /**
   * Half the width of valley floors in metres over the square root of the catchment in m²: rivers cut floors to both sides; 0 for none.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  planation?: number;
  /**
   * Catchment from which a river cuts a floor.
   *
   * Allowed: 0 to 1000000000 km².
   * @default 2
   */
  planation_area?: number;
  /**
   * How fast the floor rises away from the river, as rise over run.
   *
   * Allowed: 0 to 1.
   * @default 0.015
   */
  planation_rise?: number;
  /**
   * How uneven floors are in width, from side to side and along the river: standard deviation of its logarithm. Where rock is more readily eroded they are wider, as its root.
   *
   * Allowed: 0 to 2.
   * @default 0.6
   */
  planation_unevenness?: number;
  /**
   * How fast the places move at which a river cuts its sides: what it leaves stands as terraces.
   *
   * Allowed: 0 to 10 m/a.
   * @default 0.01
   */
  planation_drift?: number;
  /**
   * How fast a river's bends grow, in half widths of its floor in a thousand years: a standard deviation. What it undercuts on its way becomes floor.
   *
   * Allowed: 0 to 10 1/ka.
   * @default 0
   */
  planation_wander?: number;
  /**
   * How steep ground becomes at a floor's rim, where slopes' feet bury it, as rise over run.
   *
   * Allowed: 0 to 2.
   * @default 0.4
   */
  planation_foot?: number;
  /**
   * Depth of the bed in a floor, of a river that drains 1 km²; it grows as the catchment to the power of 0.3.
   *
   * Allowed: 0 to 100 m.
   * @default 0.5
   */
  planation_bed?: number;
  /**
   * Contrast of hard and soft beds, the most that they add to or take from erodibility's logarithm: cliffs and benches; 0 for none.
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
   * How steeply beds lean, as fall over run.
   *
   * Allowed: 0 to 1 m/m.
   * @default 0.004
   */
  strata_dip?: number;
  /**
   * Towards where beds fall, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 120
   */
  strata_direction?: number;
}

/** Raindrops run downhill, dig and lay down: gullies, fans, filled hollows. */
export interface DropletsParameters {
  /**
   * Size of the cells that droplets run on: the scale of the valleys that are carved; 0 takes the grid's cell.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  stride?: number;
  /**
   * Droplets per square kilometre; 0 means one per square stride.
   *
   * Allowed: 0 to 1000000000 1/km².
   * @default 0
   */
  density?: number;
  /**
   * Droplets in all, instead of a density; 0 leaves it to the density.
   *
   * Allowed: 0 to 4000000000, whole.
   * @default 0
   */
  count?: number;
  /**
   * Share of the old direction kept in a stride: 0 follows the steepest slope, near 1 runs straight on.
   *
   * Allowed: 0 to 0.999.
   * @default 0.1
   */
  inertia?: number;
  /**
   * Velocity at the start; more digs deeper at once.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  velocity?: number;
  /**
   * Water at the start; more carries more.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  water?: number;
  /**
   * Gain of squared velocity per metre of fall: how much faster, and deeper, long falls dig.
   *
   * Allowed: 0 to 100 1/m.
   * @default 0.001
   */
  gravity?: number;
  /**
   * Least slope counted in the capacity: keeps droplets digging on near-flat ground.
   *
   * Allowed: 0 to 1000.
   * @default 0.01
   */
  min_slope?: number;
  /**
   * Sediment that a droplet of velocity 1 and water 1 carries, in falls of one stride: more digs deeper before anything is laid.
   *
   * Allowed: 0 to 1000.
   * @default 3
   */
  capacity_factor?: number;
  /**
   * Share of the missing sediment that is dug in a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  erosion?: number;
  /**
   * Share of the excess sediment that is laid down in a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  deposition?: number;
  /**
   * Share of the water lost in a stride: how soon a droplet tires.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  evaporation?: number;
  /**
   * Radius of the brush that digs, in strides: wide brushes make broad valleys, 0 one-cell trenches.
   *
   * Allowed: 0 to 30 stride.
   * @default 2
   */
  radius?: number;
  /**
   * Longest path of a droplet, in strides.
   *
   * Allowed: 1 to 100000, whole stride.
   * @default 600
   */
  max_steps?: number;
  /**
   * A droplet with less water than this ends.
   *
   * Allowed: 0 to 1.
   * @default 0.001
   */
  min_water?: number;
  /**
   * No cell is dug below this elevation.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
  /**
   * Test of storage: heights kept in so many bits over 1 000 m, as an image would; 32 keeps full precision.
   *
   * Allowed: 8 to 32, whole bit.
   * @default 32
   */
  store_bits?: number;
  /**
   * Also write how often droplets stepped on each cell.
   *
   * Allowed: true or false.
   * @default false
   */
  visits?: boolean;
  /**
   * Also write how much was dug from each cell in all.
   *
   * Allowed: true or false.
   * @default false
   */
  wear?: boolean;
  /**
   * Also write how much was laid on each cell in all.
   *
   * Allowed: true or false.
   * @default false
   */
  deposit?: boolean;
}

/** What is steeper than it can stand slides: scree under cliffs, even slopes. */
export interface ThermalParameters {
  /**
   * How far material may slide in all: sets the number of steps, one cell each.
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  distance?: number;
  /**
   * Steps in all, instead of a distance; 0 leaves it to the distance.
   *
   * Allowed: 0 to 1000000, whole.
   * @default 0
   */
  steps?: number;
  /**
   * Angle of repose of loose ground: scree and sand steeper than this slide.
   *
   * Allowed: 0 to 89 °.
   * @default 34
   */
  talus?: number;
  /**
   * Angle above which bedrock crumbles into loose ground, not under `talus`; 90 lets no rock fall.
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

/** Says where water goes: catchment areas, basins, streams and lakes, as layers. */
export interface DrainageParameters {
  /**
   * Accumulation from which on there is a stream: less draws more and finer ones.
   *
   * Allowed: 0 to 1000000000000 m².
   * @default 500000
   */
  threshold?: number;
  /**
   * Water that runs off, over a year: above 0, rivers run and depressions stand full of water.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0
   */
  runoff?: number;
  /**
   * Whether depressions stand full of water even without `runoff`.
   *
   * Allowed: true or false.
   * @default false
   */
  lakes?: boolean;
  /**
   * How water is shared among neighbours.
   *
   * Allowed: one of d8, d_infinity, multiple.
   * @default "d8"
   */
  routing?: "d8" | "d_infinity" | "multiple";
}

/** Says what the upper ground is, rock, gravel, sand, loam, clay or peat, and lays beds of rock below. */
export interface SoilsParameters {
  /**
   * The kind that lies where nothing else is said.
   *
   * Allowed: one of rock, gravel, sand, loam, clay, peat, own.
   * @default "loam"
   */
  dominant?: "rock" | "gravel" | "sand" | "loam" | "clay" | "peat" | "own";
  /**
   * Width over which the ground is smoothed before its slope is taken: narrower gullies and steps do not count.
   *
   * Allowed: 0 to 100000 m.
   * @default 60
   */
  scale?: number;
  /**
   * Slope from which on rock is bare; not under `gravel_slope`.
   *
   * Allowed: 0 to 89 °.
   * @default 38
   */
  rock_slope?: number;
  /**
   * Slope from which on gravel and scree lie.
   *
   * Allowed: 0 to 89 °.
   * @default 30
   */
  gravel_slope?: number;
  /**
   * Elevation from which on frost leaves gravel only.
   *
   * Allowed: -16000 to 16000 m.
   * @default 2500
   */
  soil_line?: number;
  /**
   * Slope under which land is level: sand, clay and peat lie there.
   *
   * Allowed: 0 to 89 °.
   * @default 4
   */
  flat_slope?: number;
  /**
   * How high over the sea beaches reach, and how deep under water sand does.
   *
   * Allowed: 0 to 1000 m.
   * @default 6
   */
  shore?: number;
  /**
   * Width over which basins are told: level land that lies lower than the mean around it is in one.
   *
   * Allowed: 0 to 1000000 m.
   * @default 1500
   */
  basin?: number;
  /**
   * How far under the mean over `basin` a hollow begins.
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
   * Part of other level land that is sand, in patches.
   *
   * Allowed: 0 to 1.
   * @default 0.12
   */
  sand?: number;
  /**
   * Discharge from which on a river washes its bed.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 1
   */
  river?: number;
  /**
   * How much borders waver: standard deviation of slopes and heights at them, as a part of themselves (of 200 m for the soil line).
   *
   * Allowed: 0 to 0.5.
   * @default 0.12
   */
  amplitude?: number;
  /**
   * Size of patches and of the borders' wavering.
   *
   * Allowed: 1 to 10000000 m.
   * @default 500
   */
  wavelength?: number;
  /**
   * Greatest depth of loose ground laid over the rock within the ground: the mantle that water and slopes take first.
   *
   * Allowed: 0 to 100 m.
   * @default 0
   */
  depth?: number;
  /**
   * Whether to lay soils anew where a map of them is there already; else that is checked and kept.
   *
   * Allowed: true or false.
   * @default false
   */
  anew?: boolean;
  /**
   * Elevation at which the lowest bed of rock begins, in the world's north-western corner.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  strata_base?: number;
  /**
   * How steeply beds lean, as fall over run.
   *
   * Allowed: 0 to 1 m/m.
   * @default 0.004
   */
  strata_dip?: number;
  /**
   * Towards where beds fall, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 120
   */
  strata_direction?: number;
  /**
   * How far beds are warped up and down: three standard deviations.
   *
   * Allowed: 0 to 10000 m.
   * @default 0
   */
  strata_warp?: number;
  /**
   * Distance over which beds are warped up and down.
   *
   * Allowed: 1 to 10000000 m.
   * @default 5000
   */
  strata_wavelength?: number;
}

/** Slopes no steeper than they stand, alike in all directions, and creeping soil: even flanks, round crests. */
export interface HillslopeParameters {
  /**
   * Years of creep.
   *
   * Allowed: 0 to 10000000 a.
   * @default 20000
   */
  years?: number;
  /**
   * How fast soil creeps: rounds crests, fills hollows.
   *
   * Allowed: 0 to 10 m²/a.
   * @default 0.005
   */
  diffusion?: number;
  /**
   * Steepest slope that stands; 90 leaves slopes as steep as they are.
   *
   * Allowed: 0 to 90 °.
   * @default 35
   */
  angle?: number;
  /**
   * How uneven the steepest slope is: standard deviation of its logarithm. At 0 flanks are smooth as cones.
   *
   * Allowed: 0 to 1.
   * @default 0.08
   */
  jitter?: number;
  /**
   * Distance from one strong flank to the next.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 1000
   */
  jitter_wavelength?: number;
}

/** Rivers cut flat floors to both sides, wider where more water flows: connected valleys. */
export interface PlanationParameters {
  /**
   * Catchment from which a river cuts a floor.
   *
   * Allowed: 0 to 1000000000 km².
   * @default 2
   */
  threshold?: number;
  /**
   * Half the floor's width in metres over the square root of the catchment in m².
   *
   * Allowed: 0 to 1.
   * @default 0.035
   */
  width?: number;
  /**
   * Half the width that no floor passes, but for its unevenness.
   *
   * Allowed: 0 to 100000 m.
   * @default 500
   */
  widest?: number;
  /**
   * How fast the floor rises away from the river, as rise over run.
   *
   * Allowed: 0 to 1.
   * @default 0.015
   */
  rise?: number;
  /**
   * Outer part of the half width over which the cut eases out: small leaves steep banks.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  edge?: number;
  /**
   * How uneven floors are in width: standard deviation of its logarithm.
   *
   * Allowed: 0 to 2.
   * @default 0.35
   */
  unevenness?: number;
  /**
   * Distance from one wide place to the next, in half widths.
   *
   * Allowed: 2 to 1000.
   * @default 8
   */
  wavelength?: number;
  /**
   * Share of the cut made in one step.
   *
   * Allowed: 0 to 1.
   * @default 1
   */
  share?: number;
  /**
   * How often rivers are found and floors cut.
   *
   * Allowed: 0 to 10000, whole.
   * @default 1
   */
  steps?: number;
}

/** Glaciers gather, flow and wear their beds: troughs, cirques, sharp crests, basins for lakes, fjords. */
export interface GlacierParameters {
  /**
   * Time for which the bed is worn: deeper troughs.
   *
   * Allowed: 0 to 10000000 a.
   * @default 20000
   */
  years?: number;
  /**
   * Time for which the bed is worn between two looks at the ice.
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
   * Most steps of the flow of ice in `ice_years`: more let ice on fine cells keep pace with its bed.
   *
   * Allowed: 1 to 1000, whole.
   * @default 12
   */
  ice_steps?: number;
  /**
   * Time for which ice grows before it wears the bed.
   *
   * Allowed: 0 to 100000 a.
   * @default 300
   */
  growth?: number;
  /**
   * Elevation at which as much ice melts as snow falls: lower makes longer and thicker glaciers.
   *
   * Allowed: -16000 to 16000 m.
   * @default 1200
   */
  snowline?: number;
  /**
   * How far the snowline falls and rises about `snowline`: cirques in mild ages, long troughs in cold ones.
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
   * How much more ice melts with each metre down.
   *
   * Allowed: 0 to 0.1 1/a.
   * @default 0.007
   */
  gradient?: number;
  /**
   * The most snow that falls, high up.
   *
   * Allowed: 0 to 50 m/a.
   * @default 1.5
   */
  accumulation?: number;
  /**
   * How much lower the snowline lies on upright walls in the shade, and higher in the sun: cirques on one side of crests.
   *
   * Allowed: 0 to 2000 m.
   * @default 0
   */
  shade?: number;
  /**
   * Towards where shade lies and wind drifts snow, clockwise from north.
   *
   * Allowed: 0 to 360 °.
   * @default 30
   */
  shade_azimuth?: number;
  /**
   * How readily ice creeps: softer ice is thinner.
   *
   * Allowed: 0 to 10 1/(bar³·a).
   * @default 0.0757
   */
  softness?: number;
  /**
   * How readily ice slides: thinner ice that wears more.
   *
   * Allowed: 0 to 1000000 m²/(bar³·a).
   * @default 1800
   */
  sliding?: number;
  /**
   * Rock worn for each metre that ice slides.
   *
   * Allowed: 0 to 0.1 m^(1−l)·a^(l−1).
   * @default 0.0001
   */
  erosion?: number;
  /**
   * Exponent l of the speed: higher wears fast trunks deeper beside slow tributaries.
   *
   * Allowed: 0.5 to 3.
   * @default 1
   */
  exponent?: number;
  /**
   * How many times as fast as the floor upright walls are worn: broad floors and steep sides.
   *
   * Allowed: 0 to 20.
   * @default 2
   */
  widening?: number;
  /**
   * Distance over which ice moves as one: broad troughs for narrow clefts.
   *
   * Allowed: 0 to 100000 m.
   * @default 250
   */
  coupling?: number;
  /**
   * How far the bed must stand above its mean over `coupling` to be worn twice as fast; as far below it nothing is worn: even, broad floors. 0 wears hollows as it does knobs.
   *
   * Allowed: 0 to 1000 m.
   * @default 0
   */
  knob?: number;
  /**
   * How fast walls step back where they stand in ice: cirques with headwalls, arêtes.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0
   */
  headwall?: number;
  /**
   * Thickness of ice that is half frozen to its bed: thinner ice wears little, so crests stay.
   *
   * Allowed: 0 to 1000 m.
   * @default 40
   */
  grip?: number;
  /**
   * Most that the bed rises along the ice for each metre that its surface falls: deeper basins.
   *
   * Allowed: 0 to 1000.
   * @default 1.5
   */
  adverse?: number;
  /**
   * Share of what is worn that is laid down where the ice melts; melt water carries off the rest.
   *
   * Allowed: 0 to 1.
   * @default 0.15
   */
  till?: number;
  /**
   * Steepest angle of walls; 90 for none.
   *
   * Allowed: 1 to 90 °.
   * @default 50
   */
  slope_limit?: number;
  /**
   * How much the limit varies: the deviation of its logarithm.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  slope_variation?: number;
  /**
   * Distance over which the limit varies most.
   *
   * Allowed: 0.01 to 100000000 m.
   * @default 500
   */
  slope_wavelength?: number;
  /**
   * Whether the ice melts at the end.
   *
   * Allowed: true or false.
   * @default true
   */
  melt?: boolean;
}

/** Wind-blown sand: barchans, ridges across the wind and along it, with slip faces in the lee. */
export interface DunesParameters {
  /**
   * Years of wind: dunes grow, join and become fewer.
   *
   * Allowed: 0 to 1000000 a.
   * @default 800
   */
  years?: number;
  /**
   * Sand that the wind carries over a plain of it: more is quicker.
   *
   * Allowed: 0 to 10000 m²/a.
   * @default 20
   */
  transport?: number;
  /**
   * Where the wind blows from, clockwise from north: 270 is a west wind.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  wind?: number;
  /**
   * Angle over which the seasons' winds spread: 0 for crests across the wind, over 90 for ridges along the mean.
   *
   * Allowed: 0 to 360 °.
   * @default 0
   */
  wind_variation?: number;
  /**
   * Number of winds, step by step in turn: two for long ridges, three spread over 240° for stars.
   *
   * Allowed: 1 to 12, whole.
   * @default 2
   */
  winds?: number;
  /**
   * How much the wind's direction wavers, as a standard deviation: more makes crests less straight.
   *
   * Allowed: 0 to 45 °.
   * @default 5
   */
  gusts?: number;
  /**
   * How far a slab hops: the least size of dunes.
   *
   * Allowed: 0.1 to 10000 m.
   * @default 20
   */
  hop?: number;
  /**
   * Thickness of a slab; 0 takes a tenth of a cell. Thinner slabs make smoother sand and more steps.
   *
   * Allowed: 0 to 100 m.
   * @default 0
   */
  slab?: number;
  /**
   * Share of a slab that stays where it comes down on sand.
   *
   * Allowed: 0.05 to 1.
   * @default 0.6
   */
  on_sand?: number;
  /**
   * Share of a slab that stays where it comes down on bare ground: less leaves more ground bare.
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
   * Angle of repose of sand: how steep lee faces are.
   *
   * Allowed: 5 to 60 °.
   * @default 33
   */
  repose?: number;
  /**
   * Steepest ground that sand is blown up on: cliffs steeper than that stop it.
   *
   * Allowed: 1 to 89 °.
   * @default 25
   */
  climb?: number;
  /**
   * How much farther slabs hop over ground that rises out of its surroundings: lower dunes with rounder backs.
   *
   * Allowed: 0 to 100.
   * @default 8
   */
  speed_up?: number;
  /**
   * How much sand in the wind rolls downhill: creep over transport and slope; more makes smoother, wider dunes. (Not more than a fifth of the fall to a neighbour moves in a step: on cells much finer than a hop it is less.)
   *
   * Allowed: 0 to 10.
   * @default 0.4
   */
  creep?: number;
  /**
   * Sand laid over the plains at the start, where there is no loose ground in the world.
   *
   * Allowed: 0 to 1000 m.
   * @default 10
   */
  sand?: number;
  /**
   * How patchy the first sand and the inflow are: 0 is even, at 1 some ground is bare and some has twice as much.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  patchiness?: number;
  /**
   * Sand that comes over open edges upwind, as a share of what a plain of sand beyond them would send.
   *
   * Allowed: 0 to 2.
   * @default 1
   */
  inflow?: number;
}

/** Waves cut cliffs and platforms, lay beaches in bays, and corals build reefs. */
export interface CoastParameters {
  /**
   * Years of waves.
   *
   * Allowed: 0 to 1000000 a.
   * @default 3000
   */
  years?: number;
  /**
   * How fast the most exposed shore of hardness 0 moves back at first; loose ground is no faster.
   *
   * Allowed: 0 to 100 m/a.
   * @default 0.05
   */
  retreat?: number;
  /**
   * Open water over which waves grow to their full height.
   *
   * Allowed: 1 to 10000000 m.
   * @default 10000
   */
  fetch?: number;
  /**
   * How much more waves come from one side: 0 from all alike, 1 none from the other side.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  swell?: number;
  /**
   * Where most waves come from, clockwise from north.
   *
   * Allowed: -360 to 360 °.
   * @default 270
   */
  swell_from?: number;
  /**
   * Distance over land and shoals on which the open water that counts for waves falls to a third.
   *
   * Allowed: 1 to 100000 m.
   * @default 100
   */
  shelter?: number;
  /**
   * Depth to which waves stir the ground.
   *
   * Allowed: 0 to 1000 m.
   * @default 8
   */
  wave_base?: number;
  /**
   * Slope of the platform at a cliff's foot.
   *
   * Allowed: 0 to 45 °.
   * @default 1.5
   */
  platform?: number;
  /**
   * Steepest slope that a cliff stands at.
   *
   * Allowed: 0 to 90 °.
   * @default 55
   */
  cliff?: number;
  /**
   * Share of what is cut that is sand; the rest is mud and is lost.
   *
   * Allowed: 0 to 1.
   * @default 0.4
   */
  sandy?: number;
  /**
   * How far waves carry sand along the shore.
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
   * Height over the sea to which waves throw sand.
   *
   * Allowed: 0 to 100 m.
   * @default 1.5
   */
  runup?: number;
  /**
   * Greatest growth of corals; 0 for a sea without.
   *
   * Allowed: 0 to 1 m/a.
   * @default 0
   */
  reef?: number;
  /**
   * Depth of the ground on which the outer edge of reefs stands: more where land has sunk while they grew.
   *
   * Allowed: 1 to 2000 m.
   * @default 30
   */
  foot?: number;
  /**
   * Width of the water that corals leave free before the land.
   *
   * Allowed: 0 to 100000 m.
   * @default 250
   */
  lagoon?: number;
}

/** Water from springs, drops and rain runs from cell to cell, digs channels and lays fans. */
export interface FluvialParameters {
  /**
   * How long water runs, with the steps that go with it.
   *
   * Allowed: 0 to 1000000000 s.
   * @default 7200
   */
  duration?: number;
  /**
   * Steps in all, instead of a duration; 0 leaves it to the duration.
   *
   * Allowed: 0 to 1000000, whole.
   * @default 0
   */
  steps?: number;
  /**
   * How fast water runs from cell to cell: sets how long a step is. Slow water gathers deeper from the same springs.
   *
   * Allowed: 0.001 to 1000 m/s.
   * @default 1
   */
  velocity?: number;
  /**
   * Rain over all land, times the layer `rain` where there is one: rills everywhere, more where waters meet. Where a drop is poured and rain is not given, there is none.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 20
   */
  rain?: number;
  /**
   * Water that evaporates where there is some: dries films and puddles, ends thin streams.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 0
   */
  evaporation?: number;
  /**
   * Water of a single drop, poured before the first step; 0 is none.
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
   * Ground that the drop lifts where it falls, down to the floor at most.
   *
   * Allowed: 0 to 16000 m.
   * @default 0
   */
  pickup?: number;
  /**
   * Kc: sediment that moving water can carry, as a share of it; more digs deeper before anything is laid.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  capacity?: number;
  /**
   * Kd: share of the sediment over capacity that is laid in a step; less carries it farther, into flatter fans.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  deposition?: number;
  /**
   * Ks: share of the missing sediment that is dug in a step: how soft the ground is.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  softness?: number;
  /**
   * Which neighbours take a cell's water.
   *
   * Allowed: one of all, lowest, lowest_ground.
   * @default "all"
   */
  receivers?: "all" | "lowest" | "lowest_ground";
  /**
   * How much of the difference in levels moves.
   *
   * Allowed: one of share, full.
   * @default "share"
   */
  moves?: "share" | "full";
  /**
   * Which water the capacity is reckoned from.
   *
   * Allowed: one of moved, whole, fall.
   * @default "moved"
   */
  capacity_from?: "moved" | "whole" | "fall";
  /**
   * Whether a cell may be dug below the ground that its water goes to, as in the document: shafts under springs.
   *
   * Allowed: true or false.
   * @default false
   */
  pits?: boolean;
  /**
   * No cell is dug below this elevation.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
}

/** Rain runs as shallow water through pipes from cell to cell, and erodes: channels, lakes, fans. */
export interface PipesParameters {
  /**
   * Time that passes, of water and not of the land: erosion of ages is had by higher rates.
   *
   * Allowed: 0 to 10000000 s.
   * @default 900
   */
  seconds?: number;
  /**
   * Longest time step; 0 leaves it to the bound of stability, which always holds.
   *
   * Allowed: 0 to 3600 s.
   * @default 0
   */
  dt?: number;
  /**
   * Whether pipes widen with depth, as in nature, or not.
   *
   * Allowed: one of depth, constant.
   * @default "depth"
   */
  area?: "depth" | "constant";
  /**
   * Section of a constant pipe: waves run at √(g·pipe_area/pipe_length), whatever the depth.
   *
   * Allowed: 0.001 to 1000000 m².
   * @default 20
   */
  pipe_area?: number;
  /**
   * Length of a constant pipe; 0 is the cell size.
   *
   * Allowed: 0 to 100000 m.
   * @default 0
   */
  pipe_length?: number;
  /**
   * Depth beyond which a pipe widens no more: greater is truer in deep lakes and takes shorter steps.
   *
   * Allowed: 0.01 to 1000 m.
   * @default 10
   */
  deepest?: number;
  /**
   * Manning's n of the bed: rougher beds hold water back, so that it is deeper and slower; 0 lets it speed up for ever.
   *
   * Allowed: 0 to 1 s/m^(1/3).
   * @default 0.035
   */
  roughness?: number;
  /**
   * Rain while it falls.
   *
   * Allowed: 0 to 100000 mm/h.
   * @default 100
   */
  rain?: number;
  /**
   * How rain is spread over the cells.
   *
   * Allowed: one of even, random.
   * @default "even"
   */
  shower?: "even" | "random";
  /**
   * From the beginning of one storm to that of the next; 0 is steady rain.
   *
   * Allowed: 0 to 10000000 s.
   * @default 0
   */
  storm_period?: number;
  /**
   * Part of each period in which it rains.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  storm_share?: number;
  /**
   * Radius of the cloud that rain falls from, another for each storm; 0 is rain over the whole map.
   *
   * Allowed: 0 to 1000000 m.
   * @default 0
   */
  storm_radius?: number;
  /**
   * How fast the cloud moves.
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
   * Whether water stands at the start wherever the ground is below `lake_level`.
   *
   * Allowed: true or false.
   * @default false
   */
  lake?: boolean;
  /**
   * Level of the water that stands at the start.
   *
   * Allowed: -16000 to 16000 m.
   * @default 0
   */
  lake_level?: number;
  /**
   * Sediment, as metres of thickness, that water at 1 m/s carries down a wall: more carves deeper and builds larger fans.
   *
   * Allowed: 0 to 100 s.
   * @default 0.3
   */
  capacity?: number;
  /**
   * Least sin α that counts: what rivers carry over flat ground.
   *
   * Allowed: 0 to 1.
   * @default 0.03
   */
  min_slope?: number;
  /**
   * Depth from which on water carries all it can; sheets of rain dig less.
   *
   * Allowed: 0 to 100 m.
   * @default 0.5
   */
  ramp?: number;
  /**
   * Share of the lacking load that loose ground yields in a second.
   *
   * Allowed: 0 to 100 1/s.
   * @default 0.1
   */
  erosion?: number;
  /**
   * What bedrock yields, as a share of what loose ground would.
   *
   * Allowed: 0 to 1.
   * @default 0.3
   */
  rock?: number;
  /**
   * Share of the surplus load that is laid down in a second: less carries it farther.
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
   * Whether to leave the water's velocity as layers.
   *
   * Allowed: true or false.
   * @default false
   */
  velocity?: boolean;
}

/** Drops gather to streams that wind, and stand as lakes that fill and spill. */
export interface HydrologyParameters {
  /**
   * The length that the other numbers are for: the width of the article's cells; 0 takes the grid's cell.
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
   * Drops that fall on each cell in all: more dig longer.
   *
   * Allowed: 0 to 1000 1/cell.
   * @default 2
   */
  drops?: number;
  /**
   * Drops that a batch lets fall on each cell.
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
   * Time in which all of it falls: the water of the lakes. Erosion is that of a far longer time.
   *
   * Allowed: 0.001 to 10000 a.
   * @default 20
   */
  years?: number;
  /**
   * Share of the rain that the lowest land goes without, where the highest has all of it.
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  orographic?: number;
  /**
   * Mean intensity of rain while it rains, for what soaks into soils.
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
   * Density of water: heavier drops turn later.
   *
   * Allowed: 0.01 to 100.
   * @default 1
   */
  density?: number;
  /**
   * Share of speed lost over a stride.
   *
   * Allowed: 0 to 0.99.
   * @default 0.15
   */
  friction?: number;
  /**
   * Share of the friction that a full stream takes away.
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
   * Share of the evaporation that a full stream takes away.
   *
   * Allowed: 0 to 1.
   * @default 0.2
   */
  stream_evaporation?: number;
  /**
   * Water that evaporates from lakes.
   *
   * Allowed: 0 to 20 m/a.
   * @default 0.6
   */
  lake_evaporation?: number;
  /**
   * Share of the difference to what can be carried that is dug or laid over a stride.
   *
   * Allowed: 0 to 1.
   * @default 0.1
   */
  deposition?: number;
  /**
   * How many times more a full stream can carry: 1 carries twice as much.
   *
   * Allowed: 0 to 1000.
   * @default 10
   */
  entrainment?: number;
  /**
   * How strongly drops are drawn along with the stream: wide bends.
   *
   * Allowed: 0 to 100.
   * @default 1
   */
  momentum?: number;
  /**
   * Discharge at which a stream is all but full, σ = 0.83; 0 takes that of the rain on some 920 strides squared.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 0
   */
  stream_discharge?: number;
  /**
   * Drops a cell after which the maps have forgotten all but a third.
   *
   * Allowed: 0.001 to 100 1/cell.
   * @default 0.1
   */
  memory?: number;
  /**
   * Share of a whole drop's water with which a drop ends.
   *
   * Allowed: 0.0001 to 0.9.
   * @default 0.01
   */
  min_volume?: number;
  /**
   * Times that a drop which found no way down sets out anew.
   *
   * Allowed: 0 to 100, whole.
   * @default 5
   */
  spill?: number;
  /**
   * Way without a new lowest place after which a drop has found no way down.
   *
   * Allowed: 1 to 100000 m.
   * @default 300
   */
  patience?: number;
  /**
   * Share of its load that settles over a stride under water.
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
   * Steepest angle of ground under water: how steep deltas' fronts are.
   *
   * Allowed: 0.1 to 89 °.
   * @default 8
   */
  wet_talus?: number;
  /**
   * Share of a bank's height over its steepest angle that is evened out when a drop passes; 1 brings it to that angle.
   *
   * Allowed: 0 to 1.
   * @default 0.8
   */
  slide?: number;
  /**
   * Depth of the deepest dry pit in a bed that water levels.
   *
   * Allowed: 0 to 1000 m.
   * @default 10
   */
  grading?: number;
  /**
   * Drops a cell after which all but a third of what stood over a sill has run out when that is cut down; 0 lets it go at once.
   *
   * Allowed: 0 to 10 1/cell.
   * @default 0.03
   */
  release?: number;
  /**
   * Years that a forest lives beside the water, spread over the batches; 0 grows none.
   *
   * Allowed: 0 to 10000 a.
   * @default 0
   */
  forest?: number;
  /**
   * Side of the ground that a plant's roots hold.
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
   * No cell is dug below this elevation.
   *
   * Allowed: -16000 to 16000 m.
   * @default -16000
   */
  floor?: number;
}

/** Grows a forest of single plants, each where its kind can live, with roots that hold the soil. */
export interface TreesParameters {
  /**
   * Years that the forest grows: few leave clumps about the first comers, a few hundred close it.
   *
   * Allowed: 1 to 100000, whole a.
   * @default 300
   */
  years?: number;
  /**
   * Seeds from elsewhere on each km² in a year: more make the forest close sooner and mix its kinds.
   *
   * Allowed: 0 to 10000 1/(km²·a).
   * @default 20
   */
  spawn?: number;
  /**
   * Share of what a plant lacks in size that it grows in a year.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.05
   */
  grow?: number;
  /**
   * Chance that a plant seeds another in a year: how soon clumps spread.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.02
   */
  seed?: number;
  /**
   * How far a seed flies at most along either axis: farther spreads sooner, with softer edges.
   *
   * Allowed: 0 to 10000 m.
   * @default 20
   */
  spread?: number;
  /**
   * Chance that a plant dies in a year: more deaths leave more gaps and younger plants.
   *
   * Allowed: 0 to 1 1/a.
   * @default 0.001
   */
  death?: number;
  /**
   * Density at which no more plants take root, 1 where roots hold the ground wholly: less leaves an open wood.
   *
   * Allowed: 0.01 to 100.
   * @default 1
   */
  cap?: number;
  /**
   * Side of the ground that a plant's roots hold: wider patches make fewer plants.
   *
   * Allowed: 0.1 to 1000 m.
   * @default 5
   */
  patch?: number;
  /**
   * Elevation above the sea where conifers end; the other kinds' belts go with it.
   *
   * Allowed: 1 to 16000 m.
   * @default 1800
   */
  tree_line?: number;
  /**
   * Discharge above which no plant stands in a cell: less keeps smaller streams free.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 0.05
   */
  stream?: number;
  /**
   * Depth of water, of the layer `water`, that plants still stand in.
   *
   * Allowed: 0 to 1000 m.
   * @default 0.05
   */
  wading?: number;
  /**
   * Transmissivity of the soil: less makes the ground moister, for willows.
   *
   * Allowed: 0.00000001 to 1 m²/s.
   * @default 0.0002
   */
  transmissivity?: number;
  /**
   * Rain that runs off, where no discharge is given.
   *
   * Allowed: 0 to 100 m/a.
   * @default 1
   */
  rain?: number;
  /**
   * Depth above which a depression is taken for a lake, where no pools are given: no plants grow there.
   *
   * Allowed: 0 to 32000 m.
   * @default 1
   */
  lake_depth?: number;
  /**
   * Weight of conifers among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  conifer?: number;
  /**
   * Weight of broadleaved trees among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  broadleaf?: number;
  /**
   * Weight of willows among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  willow?: number;
  /**
   * Weight of dwarf pines among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  dwarf_pine?: number;
  /**
   * Weight of shrubs among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 0.5
   */
  shrub?: number;
  /**
   * Weight of reeds among the seeds from elsewhere; 0 does without.
   *
   * Allowed: 0 to 1000.
   * @default 1
   */
  reed?: number;
}

/** Puts rivers and lakes into a terrain: drawn as smooth lines, carved, and true to the land. */
export interface RiverNetworkParameters {
  /**
   * Catchment from which on there is a river: less draws more and finer ones. Under 16 cells it counts as that.
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
   * Deepest channel that is cut to drain a hollow.
   *
   * Allowed: 0 to 16000 m.
   * @default 12
   */
  breach_depth?: number;
  /**
   * How far from the hollow a channel that drains it may lead.
   *
   * Allowed: 0 to 1000000 m.
   * @default 1000
   */
  breach_length?: number;
  /**
   * Roughness of the ground that has no say in where rivers run.
   *
   * Allowed: 0 to 1000 m.
   * @default 2
   */
  noise?: number;
  /**
   * Depth from which on a hollow that is left is a lake.
   *
   * Allowed: 0 to 1000 m.
   * @default 2
   */
  lake?: number;
  /**
   * Width of a river of 1 m³/s.
   *
   * Allowed: 0 to 1000 m.
   * @default 7.2
   */
  width?: number;
  /**
   * Depth of a river of 1 m³/s.
   *
   * Allowed: 0 to 100 m.
   * @default 0.27
   */
  depth?: number;
  /**
   * How far rivers wander, as a factor: 0 not at all, 1 as is usual.
   *
   * Allowed: 0 to 3.
   * @default 1
   */
  meander?: number;
  /**
   * Breadth of floodplains on either side, as a factor on what is usual: 0 makes none.
   *
   * Allowed: 0 to 10.
   * @default 1
   */
  floodplain?: number;
  /**
   * Height of levees beside meandering rivers, as a share of their depth: 0 raises none.
   *
   * Allowed: 0 to 2.
   * @default 0
   */
  levees?: number;
  /**
   * Rise of banks beyond floodplains, as rise over run: less cuts valleys with gentler sides.
   *
   * Allowed: 0.05 to 10.
   * @default 0.5
   */
  bank?: number;
  /**
   * Slope of a river, as fall over run, above which it is cut back over soft rock.
   *
   * Allowed: 0 to 10.
   * @default 0.5
   */
  fall?: number;
  /**
   * Deepest cut that takes such a fall back.
   *
   * Allowed: 0 to 1000 m.
   * @default 15
   */
  grading?: number;
  /**
   * Discharge from which on a gentle river parts into arms at the sea; 0 parts none.
   *
   * Allowed: 0 to 1000000 m³/s.
   * @default 5
   */
  delta?: number;
  /**
   * How many of its widths a gentle river gains at the sea.
   *
   * Allowed: 0 to 20.
   * @default 2
   */
  estuary?: number;
  /**
   * How rivers are found. With `sampled` what stands above does nothing, and what follows does.
   *
   * Allowed: one of drainage, sampled.
   * @default "drainage"
   */
  method?: "drainage" | "sampled";
  /**
   * Least distance r of two sampled points; where they lie closest it counts as four cells at least.
   *
   * Allowed: 0 to 1000000 m.
   * @default 500
   */
  spacing?: number;
  /**
   * By how much closer sampled points lie on steep ground, as a share of the distance.
   *
   * Allowed: 0 to 0.75.
   * @default 0
   */
  closeness?: number;
  /**
   * The factor C on the cost of climbs: more keeps rivers from climbing, at the price of long ways round.
   *
   * Allowed: 1 to 1000.
   * @default 2
   */
  climb?: number;
  /**
   * How many sampled points rivers begin at, beside springs; 0 takes all.
   *
   * Allowed: 0 to 1000000, whole.
   * @default 0
   */
  sources?: number;
  /**
   * Which sampled points rivers begin at, where `sources` is not 0.
   *
   * Allowed: one of any, highest.
   * @default "any"
   */
  source?: "any" | "highest";
}

/** A river builds land into the sea: levees, arms, bays and lobes. */
export interface DeltaParameters {
  /**
   * How long the river builds.
   *
   * Allowed: 0 to 10000000 a.
   * @default 3000
   */
  years?: number;
  /**
   * Time from one look at the ground to the next.
   *
   * Allowed: 0.01 to 100000 a.
   * @default 10
   */
  step?: number;
  /**
   * Water of the river: wider and deeper arms.
   *
   * Allowed: 0.01 to 1000000 m³/s.
   * @default 800
   */
  discharge?: number;
  /**
   * Sediment that it brings: a faster growing delta.
   *
   * Allowed: 0 to 10000000000 m³/a.
   * @default 2000000
   */
  sediment?: number;
  /**
   * Where it comes in, from west (0) to east (1).
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  inlet_x?: number;
  /**
   * Where it comes in, from north (0) to south (1).
   *
   * Allowed: 0 to 1.
   * @default 0
   */
  inlet_y?: number;
  /**
   * Fall of its water on the plain.
   *
   * Allowed: 0 to 0.1 m/m.
   * @default 0.0002
   */
  slope?: number;
  /**
   * Fall of the delta's front under water.
   *
   * Allowed: 0.0001 to 1 m/m.
   * @default 0.015
   */
  front?: number;
  /**
   * Height of levees over the water.
   *
   * Allowed: 0 to 50 m.
   * @default 1.8
   */
  levee?: number;
  /**
   * Distance over which levees fall to a third.
   *
   * Allowed: 0 to 100000 m.
   * @default 500
   */
  reach?: number;
  /**
   * Greatest share of the sediment that settles beside the river.
   *
   * Allowed: 0 to 1.
   * @default 0.5
   */
  overbank?: number;
  /**
   * Time from one break-out to the next.
   *
   * Allowed: 0.01 to 10000000 a.
   * @default 150
   */
  avulsion?: number;
  /**
   * Height of the unevenness that the river goes round.
   *
   * Allowed: 0 to 100 m.
   * @default 2
   */
  wander?: number;
  /**
   * Width of that unevenness, and wavelength of the bends that grow fastest.
   *
   * Allowed: 1 to 1000000 m.
   * @default 2200
   */
  wavelength?: number;
  /**
   * How fast the bank of a bend as sharp as the channel is wide gives way.
   *
   * Allowed: 0 to 10000 m/a.
   * @default 2
   */
  migration?: number;
}

/** Gives every hollow a way out: cuts through or fills small ones, lets deep ones stand as lakes. */
export interface OutletsParameters {
  /**
   * Least depth, at its deepest place, of a hollow or of standing water that is a lake.
   *
   * Allowed: 0 to 16000 m.
   * @default 2
   */
  lake?: number;
  /**
   * Least surface of a lake.
   *
   * Allowed: 0 to 1000000000000 m².
   * @default 20000
   */
  lake_area?: number;
}

/** Nothing of its own: a stage for the strokes of a hand, which raise, lower, smooth and paint. */
export interface ManualParameters {
}
