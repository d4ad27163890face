/** Runs adaptive discovery in a world. */
import process from "node:process";
import type { PassInput, PassPlanner } from "../../src/discovery/contract.ts";
import { AdaptiveDiscovery } from "../../src/discovery/discovery.ts";
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

/** A pass that was planned and visited. */
interface VisitedPass extends Visit {
  /** Number of probes. */
  readonly probes: number;
  /** CPU time of its plan, milliseconds. */
  readonly planMs: number;
}

/** Minimum size of a pass: a share of the probes so far, and a share of A. */
const PASS = { growth: 0.05, least: 0.0005 };
/** The usual caps, and the rate of probes. All per second. */
const CAPS = { network: 50, host: 5, rate: 100_000 };

/** CPU time of this process, milliseconds: the time on a machine that does nothing else. */
function cpuMs(): number {
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
  readonly passes: VisitedPass[] = [];
  /** The replies of the world. */
  readonly replies: Replies;
  /** The discovery. */
  readonly discovery: PassPlanner;
  #usualFound = 0;

  /** Starts a run. */
  constructor(private readonly exploration: Exploration) {
    const { world: { seed, addresses }, ports = PORTS, known = [], netBudget = Infinity } =
      exploration;
    this.replies = new Replies(exploration.world, exploration.aliases ?? []);
    this.discovery = new AdaptiveDiscovery({
      targets: [{ protocol: "slp", addresses, ports, known }],
      seed,
      netBudget,
    });
  }

  /** A run to its end. */
  static of(exploration: Exploration): Run {
    const run = new Run(exploration);
    while (run.step());
    return run;
  }

  /** Does the next pass. Returns whether there was one. */
  step(): boolean {
    if (this.#isOver()) return false;
    const planned = this.#visit(this.#nextInput());
    if (planned.probes > 0) this.#fold(planned);
    return planned.probes > 0;
  }

  #isOver(): boolean {
    const { budget, until, world } = this.exploration;
    if (this.discovery.spent < budget) return false;
    return until === undefined || this.discovery.spent >= until.budget ||
      this.replies.found >= until.share * world.servers.length;
  }

  #nextInput(): PassInput {
    const { budget, until, isCapped } = this.exploration;
    const { spent, evenSweep } = this.discovery;
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
    const { probes, protocols: [pass] } = this.discovery.plan(input);
    const planMs = cpuMs() - started;
    return { ...this.replies.visit(pass.space()), probes, planMs };
  }

  #fold(pass: VisitedPass): void {
    const { hits } = pass.result;
    this.discovery.fold([pass.result]);
    this.replies.close(pass);
    this.passes.push(pass);
    this.all.add(this.discovery.spent, this.replies.found);
    this.#usualFound += hits.filter(({ port }) => port === DEFAULT).length;
    this.usual.add(this.discovery.spent, this.#usualFound);
  }
}
