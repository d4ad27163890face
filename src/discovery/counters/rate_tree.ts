/**
 * Rates of first servers by network: of the /16s, /14s, /12s and /8s above the /20s.
 *
 * @module
 */

/** Expected first servers per probe where nothing is known. */
export const PRIOR_RATE = 3e-5;
/** Weight of the rate of the parent, in first servers: how alike the networks of a parent are. */
export const ALIKE = 0.25;

/** The networks of one level. */
interface Level {
  /** The index of the first child of each network, and the number of children. */
  readonly children: Uint32Array;
  /** Weighted first servers. */
  readonly finds: Float64Array;
  /** Weighted probes. */
  readonly probes: Float64Array;
  /** First servers per probe. */
  readonly rate: Float64Array;
}

/**
 * Rates at several levels, each a mean of what was found and of the rate of the parent.
 *
 * Upwards, a parent adds up its children. A child whose count is far beyond what the parent expects
 * says less about its siblings, so it has the weight w = a / (a + r n), where n are its probes and r
 * is the rate of the parent from the pass before. Downwards, r = (T + a) / (N + a / r'), where T and
 * N are the sums of a network and r' is the rate of its parent: the mean of a gamma distribution
 * with mean r' and shape a, after T finds in N probes.
 */
export class RateTree {
  readonly #levels: readonly Level[];
  #top = PRIOR_RATE;

  /**
   * Creates the tree.
   *
   * @param blocks The /20s, ascending.
   * @param shifts For each level from below, the bits that its networks are shorter than a /20's.
   */
  constructor(blocks: Uint32Array, readonly shifts: readonly number[]) {
    let [children, shifted] = [blocks, 0];
    this.#levels = shifts.map((shift) => {
      const [networks, level] = levelOf(children, shift - shifted);
      [children, shifted] = [networks, shift];
      return level;
    });
  }

  /** First servers per probe of all networks. */
  get top(): number {
    return this.#top;
  }

  /** Memory of the tree, bytes. */
  get bytes(): number {
    return this.#levels.reduce((sum, { rate }) => sum + 28 * rate.length, 0);
  }

  /** The index of the first /20 of each /16, and the number of /20s. */
  get blocksOf16(): Uint32Array {
    return this.#levels[0].children;
  }

  /** First servers per probe of each /16. */
  get rateOf16(): Float64Array {
    return this.#levels[0].rate;
  }

  /** First servers per probe of the networks at a level, and the indexes of their /20s. */
  level(shift: number): { readonly rate: Float64Array; readonly blocks: Uint32Array } {
    const at = this.shifts.indexOf(shift);
    let blocks = this.#levels[at].children;
    for (let i = at - 1; i >= 0; i--) {
      blocks = blocks.map((child) => this.#levels[i].children[child]);
    }
    return { rate: this.#levels[at].rate, blocks };
  }

  /**
   * Computes all rates.
   *
   * @param finds First servers of a /20.
   * @param probes Probes of a /20 until then.
   */
  update(finds: (block: number) => number, probes: (block: number) => number): void {
    let [below, belowProbes] = [finds, probes];
    for (const level of this.#levels) {
      gather(level, below, belowProbes);
      below = (i) => level.finds[i];
      belowProbes = (i) => level.probes[i];
    }
    const last = this.#levels[this.#levels.length - 1];
    let [found, probed] = [0, 0];
    for (let i = 0; i < last.rate.length; i++) {
      const weight = ALIKE / (ALIKE + this.#top * last.probes[i]);
      found += weight * last.finds[i];
      probed += weight * last.probes[i];
    }
    this.#top = (found + 1) / (probed + 1 / PRIOR_RATE);
    for (let i = this.#levels.length - 1; i >= 0; i--) {
      spread(this.#levels[i], this.#levels[i + 1], this.#top);
    }
  }
}

/** The networks above others, and their level. */
function levelOf(below: Uint32Array, bits: number): [networks: Uint32Array, level: Level] {
  const networks: number[] = [];
  const children: number[] = [];
  for (let i = 0; i < below.length; i++) {
    const network = below[i] >>> bits;
    if (network === networks[networks.length - 1]) continue;
    networks.push(network);
    children.push(i);
  }
  const empty = () => new Float64Array(networks.length);
  const rate = empty().fill(PRIOR_RATE);
  return [
    Uint32Array.from(networks),
    {
      children: Uint32Array.from([...children, below.length]),
      finds: empty(),
      probes: empty(),
      rate,
    },
  ];
}

/** Adds up the children of each network, with the rates of the pass before. */
function gather(
  { children, finds, probes, rate }: Level,
  findsOf: (child: number) => number,
  probesOf: (child: number) => number,
): void {
  for (let i = 0; i < rate.length; i++) {
    let [found, probed] = [0, 0];
    for (let child = children[i]; child < children[i + 1]; child++) {
      const n = probesOf(child);
      const weight = ALIKE / (ALIKE + rate[i] * n);
      found += weight * findsOf(child);
      probed += weight * n;
    }
    finds[i] = found;
    probes[i] = probed;
  }
}

/** Computes the rates of a level from those of the level above; without one, from the rate of all. */
function spread({ finds, probes, rate }: Level, above: Level | undefined, top: number): void {
  let parent = 0;
  for (let i = 0; i < rate.length; i++) {
    while (above !== undefined && above.children[parent + 1] <= i) parent++;
    const prior = above?.rate[parent] ?? top;
    rate[i] = (finds[i] + ALIKE) / (probes[i] + ALIKE / prior);
  }
}
