/** Yield curves: the number of servers that were found by a number of probes. */

/** A yield curve. Between its points it is a straight line. */
export class Curve {
  readonly #probes = [0];
  readonly #found = [0];

  /** Adds a point behind the last one. */
  add(probes: number, found: number): void {
    this.#probes.push(probes);
    this.#found.push(found);
  }

  /** The curve of servers that were found at given numbers of probes, in any order. */
  static of(times: readonly number[]): Curve {
    const curve = new Curve();
    times.toSorted((a, b) => a - b).forEach((time, i) => curve.add(time, i + 1));
    return curve;
  }

  /** Number of probes at the end. */
  get end(): number {
    return this.#probes.at(-1)!;
  }

  /** Number of servers that were found by a number of probes. */
  at(probes: number): number {
    return between(this.#probes, this.#found, probes);
  }

  /** Number of probes after which a number of servers was found; `Infinity`: never. */
  reach(found: number): number {
    return found > this.#found.at(-1)! ? Infinity : between(this.#found, this.#probes, found);
  }

  /** The sum of curves of parts that run at the same time, each for its share of the probes. */
  static sum(parts: readonly Curve[], points: number): Curve {
    const curve = new Curve();
    const end = parts.reduce((sum, part) => sum + part.end, 0);
    for (let i = 1; i <= points; i++) {
      const found = parts.reduce((sum, part) => sum + part.at(part.end * i / points), 0);
      curve.add(end * i / points, found);
    }
    return curve;
  }
}

/** The value of `y` where ascending `x` have a value; that of the last `x` behind it. */
function between(x: readonly number[], y: readonly number[], value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = low + high >>> 1;
    if (x[middle] < value) low = middle + 1;
    else high = middle;
  }
  if (low === 0 || low === x.length) return y[Math.min(low, x.length - 1)];
  const part = (value - x[low - 1]) / (x[low] - x[low - 1]);
  return y[low - 1] + part * (y[low] - y[low - 1]);
}
