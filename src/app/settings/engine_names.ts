/**
 * The names of the engines, and which of them the system and the permissions allow.
 *
 * @module
 */
import { IS_NPM_PACKAGE } from "../environment.ts";

/** The engines by name, the slowest first. */
export const ENGINES: readonly EngineName[] = ["portable", "udp", "packet", "xdp"];
/** The value of `--engine` for the fastest engine that runs here. */
export const FASTEST = "fastest";
/** The values of `--engine`. */
export const ENGINE_CHOICES: readonly EngineChoice[] = [...ENGINES, FASTEST];

export type EngineName = "portable" | "udp" | "packet" | "xdp";
/** A value of `--engine`. */
export type EngineChoice = "portable" | "udp" | "packet" | "xdp" | "fastest";

/** What all engines except `portable` depend on. */
export interface FfiConditions {
  /** The operating system, as in `Deno.build.os`. */
  readonly os: string;
  /** The processor architecture, as in `Deno.build.arch`. */
  readonly arch: string;
  /** Whether a permission is granted without any limit. */
  readonly granted: (permission: "ffi" | "net") => boolean;
}

/** The conditions of this process. They prompt for no permission. */
export const CONDITIONS_HERE: FfiConditions = {
  // The values are read at use, because Node.js and Bun also load this file.
  get os() {
    return Deno.build.os;
  },
  get arch() {
    return Deno.build.arch;
  },
  granted(name) {
    const { state, partial } = Deno.permissions.querySync({ name });
    return state === "granted" && !partial;
  },
};

/** The engines that system and permissions allow. `packet` and `xdp` also need a capability, and an interface. */
export function possibleEngines(conditions: FfiConditions): readonly EngineName[] {
  return missingFor(conditions) === undefined ? ENGINES : ["portable"];
}

/** The requirement of all engines except `portable` that is not met; `undefined`: all are met. */
export function missingFor({ os, arch, granted }: FfiConditions): string | undefined {
  if (os !== "linux" || arch !== "x86_64" && arch !== "aarch64") {
    return "it needs Linux on x86-64 or arm64";
  }
  if (!granted("ffi")) {
    return IS_NPM_PACKAGE
      ? "it needs the permission that --engine on the command line grants"
      : "it needs --allow-ffi without a list; the task fast grants it: deno task fast TARGET...";
  }
  // Deno does not check the sockets of FFI: a list of hosts in --allow-net would have no effect.
  return granted("net")
    ? undefined
    : "it would not obey an --allow-net with a list of hosts: grant --allow-net without a list, or use --engine portable";
}
