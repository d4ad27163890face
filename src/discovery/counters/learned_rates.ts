/**
 * What a scan learns about ports and hosts: how many servers are on which ports of which networks.
 *
 * @module
 */
import { BINS } from "./hosts.ts";

/** Lower ends of the classes of a /24 by its servers on other ports, and the priors of the classes. */
const OTHERS = [0, 1, 2, 5, 10, 30];
const OTHERS_PRIORS = [3e-6, 1e-5, 3e-5, 1e-4, 2e-4, 4e-4];
/** Lower ends of the classes of a /24 by its servers on the default port. */
const DEFAULTS = [0, 2, 4, 10];
/** Below this number of other servers, the ports of a /24 have weights of their own. */
const FEW_OTHERS = 5;
/** The weight of a port has the prior of this many servers, found and expected. */
const WEIGHT_PRIOR = 5;
/**
 * What remains of a pass's weight in the rates of classes after the next: the best ports of a class
 * are probed first, so that its rate falls.
 */
const MEMORY = 0.9;
/** Prior of the rate of one /24, in servers. */
const NETWORK_PRIOR = 0.1;

/** Servers per probe on ports other than the default port. */
export class PortRates {
  /** For each class of /24s, servers and weighted probes. */
  readonly #finds = new Float64Array(OTHERS.length * DEFAULTS.length);
  readonly #exposure = new Float64Array(OTHERS.length * DEFAULTS.length);
  /** For few and for many other servers, servers of each port, and those that were expected. */
  readonly #portFinds: readonly Float64Array[];
  readonly #portExpected: readonly Float64Array[];
  /** The values of the planned pass. */
  readonly #rates = new Float64Array(OTHERS.length * DEFAULTS.length);
  /** For few and for many other servers, the weight of each port. */
  readonly weights: readonly Float64Array[];
  /** The same, ports other than the default port in descending order of their weights. */
  readonly ordered: readonly Uint16Array[];

  /**
   * Creates the rates: nothing was probed.
   *
   * @param ports Number of ports, the default port included.
   */
  constructor(ports: number) {
    const each = () => [new Float64Array(ports), new Float64Array(ports)];
    [this.#portFinds, this.#portExpected, this.weights] = [each(), each(), each()];
    const others = Uint16Array.from({ length: ports - 1 }, (_, i) => i + 1);
    this.ordered = [others, others.slice()];
  }

  /** Memory, bytes. */
  get bytes(): number {
    return 52 * this.weights[0].length;
  }

  /** Computes the rates and weights of the next pass. */
  update(): void {
    for (let i = 0; i < this.#rates.length; i++) {
      this.#finds[i] *= MEMORY;
      this.#exposure[i] *= MEMORY;
      const prior = OTHERS_PRIORS[Math.floor(i / DEFAULTS.length)];
      this.#rates[i] = (this.#finds[i] + 1) / (this.#exposure[i] + 1 / prior);
    }
    this.weights.forEach((weights, many) => {
      for (let port = 0; port < weights.length; port++) {
        weights[port] = (this.#portFinds[many][port] + WEIGHT_PRIOR) /
          (this.#portExpected[many][port] + WEIGHT_PRIOR);
      }
      this.ordered[many].sort((a, b) => weights[b] - weights[a] || a - b);
    });
  }

  /**
   * The rate of a /24 on a port of weight 1: (finds + a) / (exposure + a / r), the mean of a gamma
   * distribution with the mean r of its class and shape a.
   */
  rate(finds: number, exposure: number, networkClass: number): number {
    return (finds + NETWORK_PRIOR) / (exposure + NETWORK_PRIOR / this.#rates[networkClass]);
  }

  /** Counts a probed slice of a /24 on a port. */
  add(
    port: number,
    rate: number,
    networkClass: number,
    many: number,
    probes: number,
    finds: number,
  ) {
    this.#finds[networkClass] += finds;
    this.#exposure[networkClass] += probes * this.weights[many][port];
    this.#portFinds[many][port] += finds;
    this.#portExpected[many][port] += probes * rate;
  }
}

/** The class of a /24, by its servers on other ports and on the default port. */
export function networkClass(others: number, defaults: number): number {
  return classOf(OTHERS, others) * DEFAULTS.length + classOf(DEFAULTS, defaults);
}

/** Which weights of ports apply to a /24. */
export function weightsOf(others: number): number {
  return others < FEW_OTHERS ? 0 : 1;
}

/** The index of the last lower end that is not above a number. */
function classOf(ends: readonly number[], number: number): number {
  let index = ends.length - 1;
  while (ends[index] > number) index--;
  return index;
}

/** Lower ends of the classes of a host by its open ports: one, if it is not the default port, is 1. */
const HOST_PRIORS = [0.03, 0.02, 0.01, 0.005, 0.003, 0.001];
const NEIGHBOURS = [0, 2, 10];
const HOST_CLASSES = 5;

/** Servers per probe on further ports of hosts. */
export class HostRates {
  readonly #finds = new Uint32Array(HOST_CLASSES * BINS * NEIGHBOURS.length);
  readonly #probes = new Uint32Array(HOST_CLASSES * BINS * NEIGHBOURS.length);

  rate(row: number): number {
    const bin = Math.floor(row / NEIGHBOURS.length) % BINS;
    return (this.#finds[row] + 1) / (this.#probes[row] + 1 / HOST_PRIORS[bin]);
  }

  add(row: number, probes: number, finds: number): void {
    this.#finds[row] += finds;
    this.#probes[row] += probes;
  }
}

/**
 * The row of rates for a host and a bin of distance.
 *
 * @param others Number of open ports other than the default port.
 * @param hasDefault Whether the default port is open.
 * @param neighbours Servers on other ports in its /24.
 */
export function hostRow(
  others: number,
  hasDefault: boolean,
  bin: number,
  neighbours: number,
): number {
  const open = others + (hasDefault ? 1 : 0);
  const hostClass = open >= 5 ? 4 : open >= 3 ? 3 : open === 2 ? 2 : hasDefault ? 0 : 1;
  return (hostClass * BINS + bin) * NEIGHBOURS.length + classOf(NEIGHBOURS, neighbours);
}
