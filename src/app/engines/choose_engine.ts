/**
 * Which engine sends and receives the datagrams of a scan: the fast one where it is granted, the
 * portable one everywhere else, and those that write frames of their own where the user says so.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { type EngineChoice, type EngineName, FASTEST } from "./engine_names.ts";
import { openSocket } from "../../net/deno/udp_socket.ts";
import type { SendThread } from "../../net/linux/thread/send_thread.ts";
import type { DatagramSocket } from "../../net/socket.ts";

/** An engine. */
export interface Engine {
  /** Its name. */
  readonly name: EngineName;
  /** Which way its frames take, where it writes them. */
  readonly way?: string;
  /**
   * Opens a socket.
   *
   * @param thread Sends its batches. Default: the program's own.
   * @throws Deno.errors.NotCapable; Error with what could not be done.
   */
  readonly open: (local: Endpoint, thread?: SendThread) => DatagramSocket;
  /**
   * Starts a thread that sends; `undefined`: this engine has none.
   *
   * @throws Error with what is missing.
   */
  readonly startThread?: () => Promise<SendThread>;
}

/** An engine that was loaded; `"unsuited"`: it has no place here, for that reason. */
export type Loaded = Omit<Engine, "name"> | { readonly unsuited: string };

const PORTABLE: Engine = { name: "portable", open: (local) => openSocket(local) };

/** What the choice of an engine depends on. */
export interface EngineGrounds {
  /** The system. */
  readonly os: string;
  /** Its processor. */
  readonly arch: string;
  /** Whether a permission is granted without any limit. */
  readonly granted: (permission: "ffi" | "net") => boolean;
  /**
   * Loads an engine, and looks whether it can run.
   *
   * @throws InputError for what the user has to put right; Error with what is missing.
   */
  readonly load: (name: Exclude<EngineName, "portable">) => Promise<Loaded>;
}

/**
 * Chooses an engine.
 *
 * @param wanted The one that the user named, if any.
 * @param tell Told when one was wanted, and does not run here.
 * @throws InputError when the named one cannot be used, with what has to be granted.
 */
export async function chooseEngine(
  wanted: EngineChoice | undefined,
  grounds: EngineGrounds,
  tell: (line: string) => void,
): Promise<Engine> {
  if (wanted === "portable") return PORTABLE;
  const cannot = (why: string) => new InputError(`Cannot use --engine ${wanted}: ${why}`);
  const isForced = wanted !== undefined && wanted !== FASTEST;
  const missing = missingFor(grounds);
  if (missing !== undefined) {
    if (isForced) throw cannot(missing);
    if (wanted === FASTEST) tell(`blocksweep: engine portable, not a faster one: ${missing}`);
    return PORTABLE;
  }
  const passed: Passed[] = [];
  for (const name of candidates(wanted)) {
    try {
      const loaded = await grounds.load(name);
      if (!("unsuited" in loaded)) {
        if (passed.length > 0) tell(passedLine(name, passed));
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
  tell(passedLine("portable", passed));
  return PORTABLE;
}

/** Which engines to try, in this order; where frames have no place, the system's sockets do. */
function candidates(wanted: EngineChoice | undefined): Exclude<EngineName, "portable">[] {
  if (wanted === FASTEST) return ["xdp", "packet", "udp"];
  return wanted === "packet" || wanted === "xdp" ? [wanted, "udp"] : ["udp"];
}

/** An engine that was passed over, and why. */
interface Passed {
  readonly name: EngineName;
  readonly why: string;
}

function passedLine(taken: EngineName, passed: readonly Passed[]): string {
  const reasons = [...Map.groupBy(passed, ({ why }) => why)]
    .map(([why, all]) => `${all.map(({ name }) => name).join(" and ")}: ${why}`);
  return `blocksweep: engine ${taken}, not ${reasons.join("; not ")}`;
}

/** What all but the portable engine lack; `undefined`: nothing. */
function missingFor({ os, arch, granted }: EngineGrounds): string | undefined {
  if (os !== "linux" || arch !== "x86_64" && arch !== "aarch64") {
    return "it needs Linux on x86-64 or arm64";
  }
  if (!granted("ffi")) {
    return "it needs --allow-ffi without a list, as the task fast has it: deno task fast TARGET...";
  }
  // Its sockets are not the runtime's: they would not keep to a list of hosts.
  return granted("net")
    ? undefined
    : "it would not keep to a limited --allow-net: grant --allow-net, or use --engine portable";
}
