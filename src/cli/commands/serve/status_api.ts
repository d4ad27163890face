/**
 * The status API of the serve command: its sockets, and its plan for the user.
 *
 * @module
 */
import { contextNetwork } from "../../../app/network/call_context.ts";
import type { OptionsOf } from "../../../app/options/mod.ts";
import {
  ALLOW_LIMIT,
  freshSettings,
  type FreshStatuses,
  MIN_PORT,
  OPEN_LIMITS,
  openFreshStatuses,
  type StatusApiSettings,
} from "../../../app/status_api/mod.ts";
import { formatAddress } from "../../../core/address.ts";
import { countOf } from "../../../core/quantities.ts";
import type { DashboardData } from "../../../web/mod.ts";
import { reportLine } from "../../term/console.ts";

/** The status API while the dashboard is served. */
export interface OpenStatusApi {
  readonly hasNames: boolean;
  /** Probes servers for clients; `undefined`: all answers come from the database. */
  readonly fresh?: FreshStatuses;
}

/**
 * Opens the status API, which `stack` closes.
 *
 * @throws InputError for exclusions, the opt-out file, and sockets; Deno.errors.NotCapable.
 */
export async function openStatusApi(
  { mode, hasNames, contact }: StatusApiSettings,
  options: OptionsOf<"serve">,
  data: Pick<DashboardData, "isOptedOut">,
  stack: AsyncDisposableStack,
): Promise<OpenStatusApi> {
  if (mode === "database") return { hasNames };
  const { optOutFile, allProtocols } = options;
  // the reasons why records of clients' names are refused are no news for the user
  const note = () => {};
  const context = { allProtocols, warn: reportLine, note, listenForInterrupt: undefined };
  const network = contextNetwork(context, optOutFile);
  const settings = await freshSettings(mode, options, network);
  const { statuses } = stack.use(
    await openFreshStatuses(settings, {
      ...{ network, allProtocols },
      report: (line) => reportLine(`blocksweep: ${line}`),
      isOptedOut: (address) => data.isOptedOut(formatAddress(address)),
    }),
  );
  planLines(settings.targets, contact).forEach(reportLine);
  return { hasNames, fresh: statuses };
}

/** What is sent for whom. */
function planLines(targets: readonly unknown[] | "public", contact: string | undefined): string[] {
  if (targets !== "public") {
    return [
      `status API: probes ${
        countOf(targets.length, "target")
      } of --probe-allow for every client, at most ` +
      `${ALLOW_LIMIT.perMinute} times a minute for each one`,
    ];
  }
  const { client, target, network, all } = OPEN_LIMITS;
  return [
    "status API: probes any public address that a client names, with the permission of " +
    `--i-have-permission; complaints: ${contact}`,
    `status API: at most ${client.perMinute} probes a minute for a client, ${target.perMinute} to an ` +
    `address, ${network.perMinute} to a /24, ${all.perMinute} in all; never private addresses, local ` +
    `names, ports below ${MIN_PORT}, exclusions and opt-outs`,
  ];
}
