/**
 * Options of the dashboard.
 *
 * @module
 */
import {
  ADDRESS,
  CONTACT,
  HOST_NAME,
  NETWORK_LIST,
  SITE_URL,
  TARGET_LIST,
} from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { GEOIP_OPTION } from "./output.ts";
import { FILE, oneOfType, wholeNumberType } from "../value_types.ts";

/** Where the dashboard is served, and to whom. */
export const DASHBOARD = {
  title: "Dashboard",
  options: [
    {
      name: "port",
      commands: ["serve"],
      takes: wholeNumberType(0, 65535),
      default: "8420",
      help: "the port to listen on; 0: any free port",
    },
    {
      name: "host",
      commands: ["serve"],
      takes: ADDRESS,
      default: "127.0.0.1",
      help: "the address to listen on; other addresses than loopback need --token-file",
    },
    {
      name: "token-file",
      commands: ["serve"],
      takes: FILE,
      help: "the file with the token that browsers and programs have to send",
    },
    {
      name: "allow-host",
      commands: ["serve"],
      takes: HOST_NAME,
      repeat: true,
      help:
        "also accept requests with this host name (header Host), such as that of a reverse proxy",
    },
    {
      name: "status-api",
      commands: ["serve"],
      takes: oneOfType(["database", "allow", "open"]),
      help:
        "also answer everybody in the forms of mcsrvstat.us and mcstatus.io: from the database, which " +
        "sends nothing; from probes of the servers of --probe-allow; or from probes of any public server",
    },
    {
      name: "probe-allow",
      commands: ["serve"],
      takes: TARGET_LIST,
      repeat: true,
      help: "with --status-api allow: servers that are probed for clients",
    },
    {
      name: "i-have-permission",
      commands: ["serve"],
      help: "with --status-api open: confirm that you may probe public addresses that clients name",
    },
    {
      name: "contact",
      commands: ["serve"],
      takes: CONTACT,
      help:
        "with --public: whom owners of servers write to; with --status-api open: who answers complaints",
      defaultText: "that of the first scan with it",
    },
    {
      name: "opt-out-file",
      commands: ["serve"],
      takes: FILE,
      help:
        "file of opted-out addresses: they are not probed for clients, and new ones are added to it",
    },
    {
      name: "trusted-proxy",
      commands: ["serve"],
      takes: NETWORK_LIST,
      repeat: true,
      help:
        "with --status-api allow or open, or --public: reverse proxies, whose X-Forwarded-For has the client's address",
    },
    {
      name: "names",
      commands: ["serve"],
      help:
        "answers of --status-api have the names of players, and their UUIDs if a probe has found them",
    },
    {
      name: "status-file",
      commands: ["serve"],
      takes: FILE,
      repeat: true,
      help: "show the state of a scan that writes this file with --status-file",
    },
    {
      name: "public",
      commands: ["serve"],
      takes: SITE_URL,
      help:
        "serve a public list for visitors, under this address, in place of the dashboard; needs --contact",
    },
    {
      ...GEOIP_OPTION,
      commands: ["serve"],
      help: "a MaxMind DB file (.mmdb): show the countries or operators of addresses",
    },
  ],
} as const satisfies OptionGroup;
