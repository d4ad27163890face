/** Runs adaptive discovery in a world. */
import process from "node:process";
import type {
  Discovery,
  DiscoveryOptions,
  PassInput,
  PassResult,
} from "../../src/discovery/contract.ts";
import { AdaptiveDiscovery } from "../../src/discovery/discovery.ts";
import { Random } from "../../src/fleet/random.ts";
import { Curve } from "./curve.ts";
import { Replies, type Visit } from "./replies.ts";
import { DEFAULT, PORTS, type Server, type World } from "./world.ts";

/** What is explored, and how. */
export interface Exploration {
  /** The world. */
  readonly world: World;
  /** Number of probes after which it ends. */
  readonly budget: number;
  /** It goes on until this share of the servers was found, or that number of probes is spent. */
  readonly until?: { readonly share: number; readonly budget: number };
  /** The probed ports, the default port first. Default: all. */
  readonly ports?: readonly number[];
  /** Servers that were known before. Default: none. */
  readonly known?: readonly Server[];
  /** Maximum number of probes to a /24. Default: no maximum. */
  readonly netBudget?: number;
  /** Whether passes are capped as at the usual caps and at 100,000 probes/s. Default: no. */
  readonly isCapped?: boolean;
  /** Hosts that reply on all ports with one fingerprint. Default: none. */
  readonly aliases?: Iterable<number>;
}

/** A pass that was folded. */
export interface RecordedPass {
  /** What it was planned with. */
  readonly input: PassInput;
  /** What it found. */
  readonly result: PassResult;
  /** The digest of its plan. */
  readonly digest: string;
  /** CPU time of its plan, milliseconds. */
  readonly planMs: number;
}

/** A pass that was planned and visited. */
interface VisitedPass extends Visit {
  readonly probes: number;
  readonly digest: string;
  readonly planMs: number;
}

/** Minimum size of a pass: a share of the probes so far, and a share of A. */
const PASS = { growth: 0.05, least: 0.0005 };
/** The usual caps, and the rate of probes. All per second. */
const CAPS = { network: 50, host: 5, rate: 100_000 };

/** CPU time of this process, milliseconds: the time on a machine that does nothing else. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A run of a discovery in a world. */
export class Run {
  /** The yield curve of all servers. */
  readonly all = new Curve();
  /** The yield curve of servers on the default port. */
  readonly usual = new Curve();
  /** The folded passes. */
  readonly passes: RecordedPass[] = [];
  /** The replies of the world. */
  readonly replies: Replies;
  #discovery: Discovery;
  #usualFound = 0;

  /** Starts a run. */
  constructor(private readonly exploration: Exploration) {
    this.replies = new Replies(exploration.world, exploration.aliases ?? []);
    this.#discovery = this.#start();
  }

  /** A run to its end. */
  static of(exploration: Exploration): Run {
    const run = new Run(exploration);
    while (run.step());
    return run;
  }

  /** The discovery. */
  get discovery(): Discovery {
    return this.#discovery;
  }

  /**
   * Does the next pass.
   *
   * @param kills How often the process ends after the pass was visited and before it is recorded.
   * @returns Whether there was one.
   */
  step(kills = 0): boolean {
    if (this.#isOver()) return false;
    const input = this.#nextInput();
    let planned = this.#visit(input);
    for (let i = 0; i < kills; i++) {
      this.resume();
      const again = this.#visit(input);
      if (again.digest !== planned.digest) throw new Error(`Pass ${this.passes.length} differs`);
      planned = again;
    }
    if (planned.probes === 0) return false;
    this.#fold(input, planned);
    return true;
  }

  /**
   * Forgets the discovery and replays the recorded passes, the hits of each in another order.
   *
   * @throws Error when a pass is planned differently.
   */
  resume(): void {
    const draws = new Random(this.passes.length);
    this.#discovery = this.#start();
    for (const [i, { input, result, digest }] of this.passes.entries()) {
      if (this.#discovery.plan(input).digest !== digest) throw new Error(`Pass ${i} differs`);
      const order = result.hits.map((hit) => ({ hit, place: draws.u32() }));
      const hits = order.sort((a, b) => a.place - b.place).map(({ hit }) => hit);
      this.#discovery.fold([{ ...result, hits }]);
    }
  }

  #start(): Discovery {
    const { world: { seed, addresses }, ports = PORTS, known = [], netBudget = Infinity } =
      this.exploration;
    const options: DiscoveryOptions = {
      targets: [{ protocol: "slp", addresses, ports, known }],
      seed,
      netBudget,
    };
    return new AdaptiveDiscovery(options);
  }

  #isOver(): boolean {
    const { budget, until, world } = this.exploration;
    if (this.#discovery.spent < budget) return false;
    return until === undefined || this.#discovery.spent >= until.budget ||
      this.replies.found >= until.share * world.servers.length;
  }

  #nextInput(): PassInput {
    const { budget, until, isCapped } = this.exploration;
    const { spent, evenSweep } = this.#discovery;
    const usual = Math.max(PASS.growth * spent, PASS.least * evenSweep);
    const probes = Math.ceil(Math.min(usual, (until?.budget ?? budget) - spent));
    const seconds = isCapped ? probes / CAPS.rate : Infinity;
    return {
      probes,
      perNetwork: Math.max(64, Math.floor(CAPS.network * seconds)),
      perHost: Math.max(16, Math.floor(CAPS.host * seconds)),
      lossPerMille: 24,
    };
  }

  #visit(input: PassInput): VisitedPass {
    const started = cpuMs();
    const { probes, digest, protocols: [pass] } = this.#discovery.plan(input);
    const planMs = cpuMs() - started;
    return { ...this.replies.visit(pass.space()), probes, digest, planMs };
  }

  #fold(input: PassInput, planned: VisitedPass): void {
    const { result, digest, planMs } = planned;
    this.#discovery.fold([result]);
    this.replies.close(planned);
    const hits = result.hits.map(({ address, port }) => ({ address, port }));
    this.passes.push({ input, result: { ...result, hits }, digest, planMs });
    this.all.add(this.#discovery.spent, this.replies.found);
    this.#usualFound += result.hits.filter(({ port }) => port === DEFAULT).length;
    this.usual.add(this.#discovery.spent, this.#usualFound);
  }
}
