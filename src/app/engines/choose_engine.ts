/**
 * Chooses the engine of a scan: the fast one if its permissions are granted, else the portable one.
 * The engines that write frames are used only if the user names them.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import {
  type EngineChoice,
  type EngineName,
  FASTEST,
  type FfiConditions,
  missingFor,
} from "../settings/engine_names.ts";
import { openSocket } from "../../net/deno/mod.ts";
import type { SendThread } from "../../net/linux/mod.ts";
import type {
  DatagramSocket,
  Limits,
  PortSocket,
  PortSocketOptions,
  SendGate,
} from "../../net/mod.ts";

/** An engine: it opens the sockets that send probes and receive replies. */
export interface Engine {
  /** The value of `--engine`. */
  readonly name: EngineName;
  /** The route of its frames, if the engine writes frames. */
  readonly route?: string;
  /**
   * Opens a socket.
   *
   * @param thread The sender thread of its batches. Default: the main thread.
   * @param gate The gate of what the main thread sends. Default: none.
   * @throws Deno.errors.NotCapable; Error that names the failed call.
   */
  readonly open: (local: Endpoint, thread?: SendThread, gate?: SendGate) => DatagramSocket;
  /**
   * Opens a socket that sends SYN packets. Default: connections are opened through the dialer.
   *
   * @param thread The sender thread of its batches. Default: the main thread.
   * @throws The errors of `open`.
   */
  readonly openPorts?: (
    local: Endpoint,
    options: PortSocketOptions,
    thread?: SendThread,
  ) => PortSocket;
  /**
   * Starts a thread that sends; `undefined`: this engine has none.
   *
   * @throws Error that names the missing part.
   */
  readonly startThread?: () => Promise<SendThread>;
}

/** A loaded engine; `"unsuited"`: the engine cannot be used here, for the given reason. */
export type Loaded = Omit<Engine, "name"> | { readonly unsuited: string };

const PORTABLE: Engine = {
  name: "portable",
  open: (local, _thread, gate) => openSocket(local, undefined, gate),
};

/** What the choice of an engine depends on. */
export interface EngineConditions extends FfiConditions {
  /**
   * Loads an engine, and checks whether it can run.
   *
   * @throws InputError for a mistake of the user; Error that names the missing part.
   */
  readonly load: (name: Exclude<EngineName, "portable">) => Promise<Loaded>;
}

/**
 * Chooses an engine.
 *
 * @param wanted The engine that the user named, if any.
 * @param report Receives a line when the named engine does not run here.
 * @throws InputError when the named engine cannot be used; the message names the missing
 * permission.
 */
export async function chooseEngine(
  wanted: EngineChoice | undefined,
  conditions: EngineConditions,
  report: (line: string) => void,
): Promise<Engine> {
  if (wanted === "portable") return PORTABLE;
  const cannot = (why: string) => new InputError(`Cannot use --engine ${wanted}: ${why}`);
  const isForced = wanted !== undefined && wanted !== FASTEST;
  const missing = missingFor(conditions);
  if (missing !== undefined) {
    if (isForced) throw cannot(missing);
    if (wanted === FASTEST) {
      report(`blocksweep: using engine portable; a faster one is not available: ${missing}`);
    }
    return PORTABLE;
  }
  const passed: Passed[] = [];
  for (const name of candidates(wanted)) {
    try {
      const loaded = await conditions.load(name);
      if (!("unsuited" in loaded)) {
        if (passed.length > 0) report(passedLine(name, passed));
        return { name, ...loaded };
      }
      passed.push({ name, why: loaded.unsuited });
    } catch (error) {
      if (error instanceof InputError) throw error;
      const { message } = error as Error;
      if (isForced) throw cannot(message);
      passed.push({ name, why: message });
    }
  }
  report(passedLine("portable", passed));
  return PORTABLE;
}

/** The rate from which more than the main thread is needed, datagrams a second. */
const FAST_RATE = 200_000;
/** Maximum number of sender threads that are started unasked. */
const MAX_SPARE_THREADS = 3;

/**
 * The number of sender threads if the user gives none. With `fastest`, a scan that may send more than
 * 200,000 datagrams a second leaves one core to the main thread, and uses up to three others. Network
 * cards may have only one queue, so `xdp` uses one thread. Caps need the main thread for each target.
 *
 * @param cores Number of cores.
 */
export function spareThreads(
  { engine: wanted, sourcePort = [] }: {
    readonly engine?: EngineChoice;
    readonly sourcePort?: readonly number[];
  },
  { name }: Pick<Engine, "name">,
  { rate = Infinity, netRate, hostRate }: Limits,
  cores: number = navigator.hardwareConcurrency,
): number {
  const isSlow = rate < FAST_RATE || (netRate ?? hostRate) !== undefined;
  if (wanted !== FASTEST || name === "portable" || isSlow) return 0;
  const most = name === "xdp" ? 1 : MAX_SPARE_THREADS;
  return Math.min(most, cores - 1, sourcePort.length || Infinity);
}

/** The engines to try, in this order; `udp` is used if the others cannot send frames. */
function candidates(wanted: EngineChoice | undefined): Exclude<EngineName, "portable">[] {
  if (wanted === FASTEST) return ["xdp", "packet", "udp"];
  return wanted === "packet" || wanted === "xdp" ? [wanted, "udp"] : ["udp"];
}

/** An engine that cannot be used, and why. */
interface Passed {
  readonly name: EngineName;
  readonly why: string;
}

function passedLine(taken: EngineName, passed: readonly Passed[]): string {
  const reasons = [...Map.groupBy(passed, ({ why }) => why)]
    .map(([why, all]) =>
      `${all.map(({ name }) => name).join(" and ")} ${
        all.length === 1 ? "is" : "are"
      } not available: ${why}`
    );
  return `blocksweep: using engine ${taken}; ${reasons.join("; ")}`;
}
