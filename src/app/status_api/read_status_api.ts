/**
 * The options of the status API, checked together.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Network } from "../../net/mod.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { readTextFiles } from "../scan/mod.ts";
import { findExclusions, readContact } from "../targets/mod.ts";
import type { FreshSettings } from "./open_fresh_statuses.ts";

export type StatusApiChoice = Pick<
  OptionsOf<"serve">,
  | "statusApi"
  | "names"
  | "probeAllow"
  | "iHavePermission"
  | "contact"
  | "trustedProxy"
  | "exclude"
  | "excludeFile"
  | "optOutFile"
  | "allowPrivate"
  | "public"
>;

/** The status API that the options select. */
export interface StatusApiSettings {
  readonly mode: "database" | "allow" | "open";
  /** Whether answers have the names of players. */
  readonly hasNames: boolean;
  /** Who answers complaints; `undefined`: not needed. */
  readonly contact: string | undefined;
}

/**
 * Checks the options of the status API. Nothing is looked up.
 *
 * @returns `undefined`: there is no status API.
 * @throws InputError for an option that lacks another one.
 */
export async function readStatusApi(
  options: StatusApiChoice,
): Promise<StatusApiSettings | undefined> {
  const { statusApi: mode, names: hasNames, iHavePermission } = options;
  if (mode === undefined && hasNames) {
    throw new InputError("Cannot use --names without --status-api: pages have the names anyway");
  }
  for (const [option, isGiven, modes] of conditions(options)) {
    const isPublic = options.public !== undefined && modes.includes(PUBLIC);
    if (!isGiven || isPublic || modes.some((one) => one === mode)) continue;
    const wanted = modes.map((one) => one === PUBLIC ? one : `--status-api ${one}`).join(" or ");
    throw new InputError(`Cannot use ${option} without ${wanted}`);
  }
  if (mode === undefined) return undefined;
  if (mode === "allow" && options.probeAllow.length === 0) {
    throw new InputError(
      "Cannot use --status-api allow without --probe-allow: name the servers that are probed for clients",
    );
  }
  if (mode !== "open") return { mode, hasNames, contact: undefined };
  if (!iHavePermission) {
    throw new InputError(
      "Cannot use --status-api open without --i-have-permission: it probes any public address that a " +
        "client names, and their owners may object",
    );
  }
  const contact = options.contact ?? await readContact();
  if (contact !== undefined) return { mode, hasNames, contact };
  throw new InputError(
    "Cannot use --status-api open without --contact: name the e-mail address or web page of who " +
      "answers complaints",
  );
}

/** The option of a public list, which has some options of the mode `open`. */
const PUBLIC = "--public";

/** The options that only some modes have, or a public list. */
function conditions(options: StatusApiChoice) {
  const [allow, open, both] = [["allow"], ["open"], ["allow", "open"]];
  const conditions: readonly (readonly [string, boolean, readonly string[]])[] = [
    ["--probe-allow", options.probeAllow.length > 0, allow],
    ["--allow-private", options.allowPrivate, allow],
    ["--i-have-permission", options.iHavePermission, open],
    ["--contact", options.contact !== undefined, [...open, PUBLIC]],
    ["--trusted-proxy", options.trustedProxy.length > 0, [...both, PUBLIC]],
    ["--exclude", options.exclude.length > 0, both],
    ["--exclude-file", options.excludeFile.length > 0, both],
    ["--opt-out-file", options.optOutFile !== undefined, both],
  ];
  return conditions;
}

/**
 * Which servers are probed.
 *
 * @param mode The mode, which probes servers.
 * @throws InputError for exclusions that cannot be read, or names in them that cannot be found.
 */
export async function freshSettings(
  mode: "allow" | "open",
  { probeAllow, names, allowPrivate, exclude, excludeFile }: StatusApiChoice,
  { resolve }: Pick<Network, "resolve">,
): Promise<FreshSettings> {
  const excludeFiles = await readTextFiles(excludeFile);
  return {
    targets: mode === "open" ? "public" : probeAllow.flat(),
    hasNames: names,
    allowPrivate,
    excluded: await findExclusions({ exclude, excludeFiles }, resolve),
  };
}
