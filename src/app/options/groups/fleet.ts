/**
 * Options of the simulated fleet.
 *
 * @module
 */
import { FLEET_RANGE, USUAL_MIX } from "../../../fleet/usual_fleet.ts";
import { nameList, PORTS, PROTOCOL_LIST, RANGE } from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { FILE, PERCENT, timeType, wholeNumberType, WRITTEN_FILE } from "../value_types.ts";

const MAX_SERVERS = 2 ** 24;
/** Maximum number of servers of a demo, because each needs a socket. */
const MAX_DEMO_SERVERS = 4000;

const SERVERS_OPTION = { name: "servers", help: "number of servers to simulate" } as const;

/** Loads the names of software for completions; help does not need them. */
async function softwareNames(): Promise<readonly string[]> {
  const { SOFTWARE } = await import("../../../fleet/mod.ts");
  return SOFTWARE.map(({ name }) => name);
}

/** Options that describe the simulated servers. */
export const FLEET = {
  title: "Fleet",
  options: [
    {
      ...SERVERS_OPTION,
      commands: ["fleet"],
      takes: wholeNumberType(0, MAX_SERVERS),
      default: "100",
    },
    {
      ...SERVERS_OPTION,
      commands: ["demo"],
      takes: wholeNumberType(1, MAX_DEMO_SERVERS),
      default: "500",
    },
    {
      name: "hostile",
      commands: ["fleet"],
      takes: wholeNumberType(0, MAX_SERVERS),
      default: "0",
      help: "number of hostile or opted-out hosts, which a scan must not list",
    },
    {
      name: "range",
      commands: ["fleet"],
      takes: RANGE,
      default: FLEET_RANGE,
      help: "the addresses of the simulated hosts",
    },
    {
      name: "crowded",
      commands: ["fleet"],
      help: "place hosts in clusters, as on the Internet: few crowded networks, most hosts alone",
    },
    {
      name: "software",
      commands: ["fleet"],
      takes: nameList(softwareNames),
      defaultText: USUAL_MIX,
      help: "the software to simulate",
    },
    {
      name: "no-tcp",
      commands: ["fleet"],
      help: "simulate no servers over TCP (each takes a file descriptor)",
    },
    {
      name: "loss",
      commands: ["fleet"],
      takes: PERCENT,
      default: "0",
      help: "share of datagrams to lose in each direction",
    },
    {
      name: "duplicate",
      commands: ["fleet"],
      takes: PERCENT,
      default: "0",
      help: "share of datagrams to duplicate in each direction",
    },
    {
      name: "delay",
      commands: ["fleet"],
      takes: timeType(),
      default: "0ms",
      help: "delay of datagrams in each direction: 20ms or 1s",
    },
    {
      name: "jitter",
      commands: ["fleet"],
      takes: timeType(),
      default: "0ms",
      help: "maximum additional random delay of a datagram",
    },
    {
      name: "manifest",
      commands: ["fleet"],
      takes: WRITTEN_FILE,
      readWith: "check",
      help: "write the expected row of each host to a file; with --check: read that file",
    },
    {
      name: "check",
      commands: ["fleet"],
      takes: FILE,
      repeat: true,
      help: "compare a scan's rows (.csv, .ndjson) with --manifest, and simulate nothing",
    },
    {
      name: "protocol",
      commands: ["fleet"],
      takes: PROTOCOL_LIST,
      defaultText: "the default protocols of a scan",
      help: "with --check: the protocols of the scan",
    },
    {
      name: "ports",
      short: "p",
      commands: ["fleet"],
      takes: PORTS,
      defaultText: "the usual ports of the protocols",
      help: "with --check: the ports of the scan",
    },
    {
      name: "no-follow",
      commands: ["fleet"],
      help: "with --check: the scan was run with --no-follow",
    },
    { name: "verify", commands: ["fleet"], help: "with --check: the scan was run with --verify" },
    {
      name: "log",
      commands: ["fleet"],
      takes: WRITTEN_FILE,
      help: "write every datagram sent or received to a file",
    },
    {
      name: "lab",
      commands: ["fleet"],
      help:
        "allow private addresses and worlds on a LAN; the host must have no default route, and " +
        "the program needs all permissions (deno run -A)",
    },
  ],
} as const satisfies OptionGroup;
