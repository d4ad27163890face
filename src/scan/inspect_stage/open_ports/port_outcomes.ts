/**
 * Counts the outcomes of the queries of open ports, and passes on the sightings of servers.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import type { Outcome, Sighting } from "../../../core/record.ts";
import { isExhausted } from "../../../inspect/mod.ts";
import type { FoundPorts } from "../../../sweep/mod.ts";
import { isKnownFor } from "../../../protocols/declared_facts.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import type { OptOutRecorder } from "../../tables/opt_out_recorder.ts";
import type { ScanSetup } from "../../setup/scan_setup.ts";
import type { ScanTables } from "../../tables/scan_tables.ts";
import type { SightingAdmission } from "../sighting_admission.ts";

/** The parts of the scan that get the outcomes. */
export interface PortOutcomeDependencies {
  /** The open ports that no pass probes again. */
  readonly foundPorts: FoundPorts;
  /** Queues each server that replied, with its status. */
  readonly admission: Pick<SightingAdmission, "push">;
  readonly optOuts: Pick<OptOutRecorder, "take">;
}

interface QueriedPort {
  readonly endpoint: Endpoint;
  /** Name of the protocol in which it was queried. */
  readonly protocol: string;
  /** Called when the server has become a sighting, or is none. */
  readonly onFinished: () => void;
}

/** How a connection ends if the peer closes it: in order, or because it has not read the request. */
const CLOSED: ReadonlySet<string | undefined> = new Set(["closed", "reset"]);

/** Judges outcomes. */
export class PortOutcomes {
  /** Prepares the judgement; it counts nothing. */
  constructor(
    private readonly options: ScanSetup,
    private readonly tables: ScanTables,
    private readonly dependencies: PortOutcomeDependencies,
  ) {}

  /**
   * Counts the outcome of a query, and passes on the sighting of a server.
   *
   * @returns Whether the reply is valid, or not a byte arrived; else `undefined`.
   */
  judge(port: QueriedPort, outcome: Outcome<unknown>): "valid" | "unresponsive" | undefined {
    const { state: { tcp: { counts } } } = this.options.io;
    const { endpoint, protocol, onFinished } = port;
    if (outcome.kind === "replied" && !this.#isWeak(port, outcome.status)) {
      counts.valid++;
      this.#take(port, outcome);
      return "valid";
    }
    if (outcome.kind !== "noReply") {
      counts.invalid++;
      return void onFinished();
    }
    // A server that is busy closes connections. A port that replied to a SYN packet accepts them, unless
    // packets were lost. One that accepted, but did not reply, is not queried again: TCP repeats lost
    // packets.
    if (CLOSED.has(outcome.why) || outcome.why === "timeout" || isExhausted(outcome)) {
      this.dependencies.foundPorts.delete(endpoint, protocol);
    }
    if (isExhausted(outcome)) return void this.tables.uninspected.add(endpoint, onFinished);
    counts[CLOSED.has(outcome.why) ? "closed" : "unresponsive"]++;
    onFinished();
    return outcome.replies === 0 ? "unresponsive" : undefined;
  }

  /** Whether a status is too little evidence, unless the server is known to speak the protocol. */
  #isWeak({ endpoint, protocol: name }: QueriedPort, status: unknown): boolean {
    const protocol = this.#named(name);
    const isKnown = isKnownFor(protocol, this.tables.known.spokenBy(endpoint));
    return protocol.isWeak?.(status, isKnown) === true;
  }

  #named(name: string): Protocol {
    return this.options.targets.protocols.find((protocol) => protocol.name === name)!;
  }

  /**
   * Queues the sighting of a server. If the endpoint has already replied over UDP, the sighting is only
   * searched for an opt-out.
   */
  #take(
    { endpoint, protocol, onFinished }: QueriedPort,
    { status, raw, latencyMs }: Outcome<unknown> & { readonly kind: "replied" },
  ): void {
    const { clock } = this.options.io;
    const { responders, uninspected } = this.tables;
    const found = { endpoint, protocol, status, raw, latencyMs };
    const sighting: Sighting = { ...found, verified: true, at: clock.now(), socket: -1 };
    uninspected.remove(endpoint)();
    if (responders.add(endpoint)) return this.dependencies.admission.push(sighting, onFinished);
    this.dependencies.optOuts.take(sighting);
    onFinished();
  }
}
