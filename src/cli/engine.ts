/**
 * Which engine sends and receives the datagrams of a scan: the fast one where it is granted, the
 * portable one everywhere else.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import { InputError } from "../errors.ts";
import { openSocket } from "../net/deno.ts";
import type { SendThread } from "../net/send_thread.ts";
import type { DatagramSocket } from "../net/socket.ts";

/** The engines by name. */
export const ENGINES = ["portable", "udp"] as const;

/** The name of an engine. */
export type EngineName = typeof ENGINES[number];

/** An engine. */
export interface Engine {
  /** Its name. */
  readonly name: EngineName;
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

const PORTABLE: Engine = { name: "portable", open: (local) => openSocket(local) };

/** What the choice of an engine depends on. */
export interface EngineGrounds {
  /** The system. */
  readonly os: string;
  /** Its processor. */
  readonly arch: string;
  /** Whether a permission is granted without any limit. */
  readonly granted: (permission: "ffi" | "net") => boolean;
  /** Loads the fast engine, and looks whether it can run. */
  readonly load: () => Promise<Omit<Engine, "name">>;
}

/** What holds for this process: nothing is asked for. */
export const THIS_PROCESS: EngineGrounds = {
  ...{ os: Deno.build.os, arch: Deno.build.arch },
  granted(name) {
    const { state, partial } = Deno.permissions.querySync({ name });
    return state === "granted" && !partial;
  },
  async load() {
    const { openUdpSocket, probeUdp } = await import("../net/udp.ts");
    const { SendThread } = await import("../net/send_thread.ts");
    await probeUdp();
    return {
      open: (local, thread) => openUdpSocket(local, { thread }),
      startThread: () => SendThread.start(),
    };
  },
};

/**
 * Chooses an engine.
 *
 * @param wanted The one that the user named, if any.
 * @param tell Told when the fast one was granted, and does not run here.
 * @throws InputError when the named one cannot be used, with what has to be granted.
 */
export async function chooseEngine(
  wanted: EngineName | undefined,
  grounds: EngineGrounds,
  tell: (line: string) => void,
): Promise<Engine> {
  if (wanted === "portable") return PORTABLE;
  const missing = missingFor(grounds);
  if (missing !== undefined) {
    if (wanted === undefined) return PORTABLE;
    throw new InputError(`Cannot use --engine udp: ${missing}`);
  }
  try {
    return { name: "udp", ...await grounds.load() };
  } catch (error) {
    const { message } = error as Error;
    if (wanted !== undefined) throw new InputError(`Cannot use --engine udp: ${message}`);
    tell(`blocksweep: engine portable, for udp does not run here: ${message}`);
    return PORTABLE;
  }
}

/** What the fast engine lacks; `undefined`: nothing. */
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
