/**
 * The serve command: the dashboard of a database.
 *
 * @module
 */
import { nodePath } from "../../../core/node_modules.ts";
import { EXIT, onInterrupt, quoteWord, ServiceState } from "../../../app/mod.ts";
import { connectionEnvironment, type OptionsOf } from "../../../app/options/mod.ts";
import { namedLocation } from "../../../app/databases/mod.ts";
import { readGeoipFiles } from "../../../app/geoip/mod.ts";
import { listenText } from "../../../app/http/mod.ts";
import { readStatusApi } from "../../../app/status_api/mod.ts";
import { readContact } from "../../../app/targets/mod.ts";
import {
  type DashboardData,
  DataError,
  openDashboardData,
  readAccessToken,
  serveDashboard,
  visitorPages,
} from "../../../web/mod.ts";
import { type Address, formatAddress, isLoopback } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { redactError } from "../../../core/redact.ts";
import { systemClock } from "../../../net/clock.ts";
import type { DatabaseLocation } from "../../../store/database_location.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import {
  logsJson,
  printLines,
  programName,
  reportFigures,
  reportLine,
} from "../../term/console.ts";
import { openStatusApi } from "./status_api.ts";
import { readStatusFiles } from "./status_files.ts";

/** Runs `serve` until Ctrl-C; returns the exit code. */
export async function runServe(call: CommandCall): Promise<number> {
  const { words: [word], options } = readCommandLine("serve", call);
  const { host, port, tokenFile, allowHost: allowedHosts, statusFile, geoip, trustedProxy } =
    options;
  const statusSettings = await readStatusApi(options);
  const [location, hostname] = [namedLocation(word), formatAddress(host)];
  const visitors = await visitorsOf(options);
  const token = visitors === undefined ? await tokenFor(host, tokenFile) : undefined;
  const status = () => readStatusFiles(statusFile);
  await status(); // a missing permission is an error before the start
  const { files, attributions } = await readGeoipFiles(geoip);
  using interrupt = onInterrupt(() => {});
  await using data = await openDashboardData(
    location,
    connectionEnvironment(reportLine),
    reportLine,
    files,
  );
  const hasGeoip = files.length > 0;
  const caller = { program: programName(), location: quoteWord(location.path) };
  const site = { data, database: nameOf(location), caller, hasGeoip: hasGeoip, attributions };
  await using stack = new AsyncDisposableStack();
  const statusApi = statusSettings && await openStatusApi(statusSettings, options, data, stack);
  await using served = serveDashboard({
    ...{ site, statusApi, hostname, port, token, status },
    inPlace: visitors && ((options) =>
      visitorPages({
        ...options,
        visitors: { ...visitors, hasBanners: statusApi !== undefined },
      })),
    allowedHosts: visitors === undefined
      ? allowedHosts
      : [...allowedHosts, new URL(visitors.base).hostname],
    trustedProxies: trustedProxy.flat(),
    clock: systemClock,
    report: (error) => reportDefect(error, call.args),
  });
  const { signal } = interrupt;
  await using service = new ServiceState({ clock: systemClock, signal, warn: reportLine });
  service.ready({ hasProgress: () => answers(data) });
  const url = `http://${listenText(hostname, served.port)}/`;
  const what = visitors === undefined ? "" : `public list for ${visitors.base}, `;
  const line = `${site.database}: ${what}${url} (Ctrl-C to end)`;
  if (logsJson()) reportFigures(line, { url });
  else await printLines([line]);
  await aborted(signal);
  return EXIT.interrupted;
}

/**
 * The public list that the options want; `undefined`: none, but the dashboard.
 *
 * @throws InputError without a contact, or with a token.
 */
async function visitorsOf(
  { public: base, contact, tokenFile, names }: OptionsOf<"serve">,
): Promise<{ base: string; contact: string } | undefined> {
  if (base === undefined) return undefined;
  if (tokenFile !== undefined) {
    throw new InputError("Cannot use --token-file with --public: everybody may see a public list");
  }
  if (names) {
    throw new InputError("Cannot use --names with --public: a public list has no names of players");
  }
  const writeTo = contact ?? await readContact();
  if (writeTo !== undefined) return { base, contact: writeTo };
  throw new InputError(
    "Cannot serve a public list without --contact: owners of servers need somebody to write to",
  );
}

/** Whether the threads that read the database answer a question, if only that the database does not. */
async function answers(data: Pick<DashboardData, "runningScans">): Promise<boolean> {
  try {
    await data.runningScans([]);
    return true;
  } catch (error) {
    return error instanceof DataError;
  }
}

/**
 * The token that requests need.
 *
 * @throws InputError without a token on an address that other machines can reach.
 */
async function tokenFor(host: Address, file: string | undefined): Promise<string | undefined> {
  if (file !== undefined) return await readAccessToken(file);
  if (isLoopback(host)) return undefined;
  throw new InputError(
    `Cannot serve the dashboard on ${
      formatAddress(host)
    } without a token: write one into a file for ` +
      "--token-file (openssl rand -hex 16 > token.txt && chmod 600 token.txt)",
  );
}

/** The name of a database for headings. */
function nameOf({ file, postgres }: DatabaseLocation): string {
  return postgres === undefined ? nodePath().basename(file) : postgres.database;
}

function reportDefect(error: unknown, args: readonly string[]): void {
  const redacted = redactError(error, args);
  const text = redacted instanceof Error ? redacted.stack ?? redacted.message : String(redacted);
  reportLine(`blocksweep: serve: ${text}`);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
