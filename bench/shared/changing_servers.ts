/** Simulated servers that stop, restart and change at known times, and the events that follow. */
import { formatAddress } from "../../src/core/address.ts";
import { type FleetHost, placeServer } from "../../src/fleet/simulate/draw_fleet.ts";

/** A kind of change. */
export type Kind = "online" | "offline" | "changed" | "restarted";

/** A true change of a server, which has to be detected once. */
export interface TrueChange {
  readonly kind: Kind;
  /** When the server changed, Unix milliseconds. */
  readonly at: number;
  /** `changed`: the MOTDs before and now; `restarted`: the GUIDs. */
  readonly values?: readonly [before: string, now: string];
}

/** What a server publishes from a time on. */
interface State {
  /** Unix milliseconds. */
  readonly since: number;
  /** Number of players; `undefined`: the server does not respond. */
  readonly players: number | undefined;
}

/** How a server changes in each round. */
export const BEHAVIOURS = ["steady", "lively", "mortal", "renewed"] as const;

/** A simulated server whose state changes while its socket stays open. */
export class ChangingServer {
  /** The host of the fleet. */
  readonly host: FleetHost;
  /** All changes, in their order. */
  readonly changes: TrueChange[] = [];
  readonly #states: State[] = [];
  #current: FleetHost;
  #guid: bigint;
  #motd: string;
  #responds = true;

  /** Starts to respond at a time, Unix milliseconds. */
  constructor(
    private readonly address: number,
    private readonly behaviour: typeof BEHAVIOURS[number],
    now: number,
  ) {
    this.#guid = BigInt(address) << 8n;
    this.#motd = "Round 0";
    this.#current = this.#place(0);
    const respond: NonNullable<FleetHost["responder"]>["respond"] = (...datagram) =>
      this.#responds ? this.#current.responder!.respond(...datagram) : [];
    this.host = { ...this.#current, responder: { respond } };
    this.#states.push({ since: now, players: 0 });
    this.changes.push({ kind: "online", at: now });
  }

  /** The server's `host:port`. */
  get name(): string {
    return `${formatAddress(this.address)}:${this.host.endpoint.port}`;
  }

  /** What a scanner reports for the server now. */
  get entry(): FleetHost["entry"] {
    return this.#current.entry;
  }

  /** The first half of a round: MOTDs and players change, and some servers stop. */
  begin(round: number, now: number): void {
    if (this.behaviour === "lively") this.#publish(round, now);
    if (this.behaviour !== "mortal" && this.behaviour !== "renewed") return;
    this.#responds = false;
    this.#states.push({ since: now, players: undefined });
    this.changes.push({ kind: "offline", at: now });
  }

  /** The second half of a round: stopped servers start again, some of them as other servers. */
  resume(round: number, now: number): void {
    if (this.#responds) return;
    if (this.behaviour === "renewed") {
      const before = this.#guid++;
      this.changes.push({ kind: "restarted", at: now, values: [`${before}`, `${this.#guid}`] });
      this.#publish(round, now);
    } else this.#states.push({ since: now, players: 0 });
    this.#responds = true;
    this.changes.push({ kind: "online", at: now });
  }

  /** The states that the server had between two times: numbers of players, `undefined`: stopped. */
  statesBetween(start: number, end: number): ReadonlySet<number | undefined> {
    const states = this.#states.filter(({ since }, i) =>
      since <= end && (this.#states[i + 1]?.since ?? Infinity) >= start
    );
    return new Set(states.map(({ players }) => players));
  }

  #publish(round: number, now: number): void {
    const before = this.#motd;
    this.#motd = `Round ${round}`;
    this.#current = this.#place(round);
    this.#states.push({ since: now, players: round });
    this.changes.push({ kind: "changed", at: now, values: [before, this.#motd] });
  }

  #place(players: number): FleetHost {
    const motd = { text: this.#motd, plain: this.#motd };
    const names = Array.from({ length: players }, (_, i) => `Player_${players}_${i}`);
    const identity = { motd, latinMotd: motd, guid: this.#guid, online: players, max: 500 };
    return placeServer(this.address, "pocketmine", { ...identity, players: names }, this.address);
  }
}
