/** Messages of NATS, requests of HTTP clients, events and templates of webhooks. */
import { acceptsGzip } from "../../../src/app/http/accepts_gzip.ts";
import { hasBearerToken } from "../../../src/app/http/bearer_token.ts";
import { isLoopbackName } from "../../../src/app/http/loopback_names.ts";
import { RequestReader } from "../../../src/app/http/request_reader.ts";
import { parseMetrics } from "../../../src/app/settings/metrics_address.ts";
import { parseProbeTarget } from "../../../src/app/metrics/probe/probe_targets.ts";
import { CollectedCampaign } from "../../../src/campaign/collector/collected_campaign.ts";
import { readRows } from "../../../src/campaign/collector/read_rows.ts";
import { formatLeaseValue, parseLeaseValue, UNTAKEN } from "../../../src/campaign/lease_value.ts";
import {
  leaseKey,
  optOutKey,
  parseLeaseKey,
  parseOptOutKey,
  parseResultSubject,
} from "../../../src/campaign/names.ts";
import { readOptions } from "../../../src/app/options/read_options.ts";
import { orderDigest } from "../../../src/app/resume/scan_configuration.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { randomSeed } from "../../../src/app/system_random.ts";
import { composeTargets } from "../../../src/app/targets/find_targets.ts";
import { START } from "../../../src/scan/setup/low_water_mark.ts";
import { parseNatsUrls } from "../../../src/campaign/nats/nats_url.ts";
import { formatPartEnd, parsePartEnd } from "../../../src/campaign/results.ts";
import { formatSpec, parseSpec, specDigest } from "../../../src/campaign/spec.ts";
import type { KV } from "../../../src/campaign/nats/client_types.ts";
import { readLeases } from "../../../src/campaign/stored_leases.ts";
import { FieldError } from "../../../src/core/checked_values.ts";
import { ATTACHMENTS, emptyRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { parseRow } from "../../../src/sinks/json.ts";
import { spillLine } from "../../../src/store/spill_file.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { parseJsonTemplate, parseTextTemplate } from "../../../src/watch/webhook/template.ts";
import { validEvent } from "../../../src/store/events/valid_event.ts";
import {
  parseEventCursor,
  readServersCursor,
  serversCursor,
} from "../../../src/web/queries/cursors.ts";
import { filterQuery, readFilters } from "../../../src/web/queries/filters.ts";
import { ParameterError } from "../../../src/web/queries/parameters.ts";
import { accessRefusal } from "../../../src/web/http/access.ts";
import golden from "../../campaign/golden_spec.json" with { type: "json" };
import { clientOf } from "../../web/http/client.ts";
import { eachKind } from "../../watch/webhook/events.ts";
import { BrokenRule, requireSame, seedsOf, type Subject, textReader } from "../subject.ts";

const SPEC = JSON.stringify(golden);
const TOKEN = "0123456789abcdef0123456789abcdef";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const LEASE = formatLeaseValue({
  ...{ ...UNTAKEN, worker: "w1", at: 5, marks: { udp: 7 }, rate: 1.5, why: "x" },
});

const NATS = "a peer in NATS";
const CLIENT = "a client of HTTP";
const PART_END = formatPartEnd({
  ...{ form: 1, worker: "w1", tries: 1, packetLoss: 0.5, why: "x\n" },
  counters: { sent: 1, replies: 2, found: 3, position: 4, total: 5 },
  coverage: {
    ...{ flooding: ["10.0.0.1"], disturbed: [], interviewsDisturbed: false, omitted: true },
    excluded: ["10.0.0.0/24", "::1"],
  },
});

/** The campaign of the golden specification, as if this version had submitted it. */
function goldenCampaign(): CollectedCampaign {
  const spec = parseSpec(SPEC, PROTOCOLS);
  const { given, found } = spec.configuration;
  const choice = scanChoice(readOptions("scan", given, CONTEXT), randomSeed, START);
  const order = orderDigest(composeTargets(found, []).targets, choice);
  const configuration = { ...spec.configuration, order };
  const submitted = {
    name: golden.name,
    digest: specDigest(SPEC),
    spec: { ...spec, configuration },
  };
  return new CollectedCampaign(submitted, CONTEXT, 3);
}

const CONTEXT = { allProtocols: PROTOCOLS };
const CAMPAIGN = goldenCampaign();

/** A row of a target of the campaign, and the part that the target belongs to. */
function campaignRow(): { readonly line: string; readonly part: number } {
  for (let address = 0x0a000000;; address++) {
    for (const port of [19132, 25565]) {
      const part = CAMPAIGN.partOf({ address, port });
      if (part === undefined) continue;
      const record = emptyRecord({ address, port }, 1_700_000_000_000);
      const line = spillLine({
        ...record,
        ...{ scan_id: CAMPAIGN.scanId, protocol: "raknet", protocols: ["raknet"], name: "A §a" },
        requested_as: CAMPAIGN.requestedAs({ address, port }),
        extras: { raknet: { a: ["b", "c"], d: 1 } },
        [ATTACHMENTS]: { replies: { raknet: { size: 3, data: "AAAA" } } },
      });
      return { line, part };
    }
  }
}

const ROW = campaignRow();

const rows: Subject = {
  name: "campaignRows",
  from: NATS,
  seeds: seedsOf(ROW.line, ROW.line + ROW.line),
  check(bytes) {
    const { records, trouble } = readRows(CAMPAIGN, ROW.part, bytes, 1_700_000_001_000);
    for (const { scan_id } of records) requireSame(scan_id, CAMPAIGN.scanId, "the scan");
    const reason = trouble?.replace(/"[^"]*"|\d+/g, "") ?? "";
    return records.length > 0 ? `+${reason}` : `-${reason}`;
  },
};

const REQUESTS = [
  "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nAccept-Encoding: gzip;q=0.5\r\n\r\n",
  "POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntoken=abc",
  "HEAD /a HTTP/1.1\r\nHost: [::1]:80\r\nConnection: keep-alive\r\nAuthorization: Bearer abc\r\n\r\n",
  "GET /api/servers?port=25565&min_players=5&text=%41&country=DE HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
  "POST /p HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  "GET http://localhost/probe?target=192.0.2.1:19132 HTTP/1.0\r\nHost: localhost\r\n\r\n",
];
const ACCESS = { hostname: "127.0.0.1", allowedHosts: ["a.example"], hasToken: true };

/** Requests on one connection, which arrive in chunks of a size that depends on their number. */
const requests: Subject = {
  name: "httpRequests",
  from: CLIENT,
  seeds: seedsOf(...REQUESTS, REQUESTS[0] + REQUESTS[1] + REQUESTS[0]),
  async check(bytes) {
    let at = 0;
    const most = 1 + bytes.length % 97 * 8;
    const read = (into: Uint8Array): Promise<number | null> => {
      const chunk = bytes.subarray(at, at + Math.min(most, into.length));
      into.set(chunk);
      at += chunk.length;
      return Promise.resolve(chunk.length === 0 ? null : chunk.length);
    };
    const reader = new RequestReader({ read }, { maxHead: 1024, maxBody: 64 });
    let accepted = 0;
    for (;;) {
      const request = await reader.read();
      if (typeof request !== "object") return accepted > 0 ? `+${request}` : `-${request}`;
      accepted++;
      accessRefusal(request, "127.0.0.1", ACCESS);
      acceptsGzip(request.headers.get("accept-encoding"));
      hasBearerToken(request.headers, "abc");
      isLoopbackName(request.host ?? "");
      tryFilters(request.query);
    }
  },
};

/** Keys and values of the bucket of leases: a key on the first line, then the value. */
const storedLeases: Subject = {
  name: "storedLeases",
  from: NATS,
  seeds: seedsOf(
    `worker.w1\n{"slots":2,"engine":"udp","program":"1.0.0","host":"a","at":5,"clockOffsetMs":-3}`,
    `lease.lab-2.7\n${LEASE}`,
  ),
  async check(bytes) {
    const [key, ...lines] = new TextDecoder().decode(bytes).split("\n");
    const created = new Date(1);
    const entry = { key, created, operation: "PUT", revision: 1, string: () => lines.join("\n") };
    const bucket = { history: () => Promise.resolve(ReadableStream.from([entry])) };
    const broker = { bucket: () => Promise.resolve(bucket as unknown as KV) };
    const { leases, workers } = await readLeases(broker, undefined, () => {});
    return leases.length > 0 ? "+lease" : workers.length > 0 ? "+worker" : "-";
  },
};

const client = clientOf({ token: TOKEN });
const signedIn = { authorization: `Bearer ${TOKEN}` };

/** Paths of the dashboard with their queries, with the token; and the form for the token. */
const dashboardPaths: Subject = {
  name: "dashboard",
  from: "a browser",
  seeds: seedsOf(
    "/servers?text=a%41&port=25565&sort=players",
    "/servers/7/history?days=30",
    "/servers/7/events",
    "/compare?id=1&id=2",
    "/events?before=1764142000000-812-40&kind=online",
    "/map?square=10.0.0.0/8",
    "/trends?days=7",
    `/scans/${CAMPAIGN.scanId}`,
    "/api/servers?limit=5&country=DE",
    "/api/servers/7",
    "/servers.csv?min_players=3",
    "/token",
    "/a/..%2f?to=//evil.example",
  ),
  async check(bytes) {
    const path = new TextDecoder().decode(bytes).replace(/\s/g, "");
    if (URL.parse(path, "http://a")?.pathname === "/api/live") return "-"; // it never ends
    const { status, headers, text } = await client(`GET ${path}`, signedIn);
    if (status >= 500) throw new BrokenRule(`status ${status}`);
    if (text.includes("<html") && headers["content-security-policy"] === undefined) {
      throw new BrokenRule("a page has no policy");
    }
    const form = `token=${TOKEN}&to=${encodeURIComponent(path)}`;
    const { headers: { location } } = await client("POST /token", FORM, form);
    if (!/^\/(?![/\\])/.test(location)) throw new BrokenRule(`it leads to ${location}`);
    return `${status < 400 ? "+" : "-"}${status} ${path.split(/[?/]/, 3)[1]?.slice(0, 8)}`;
  },
};

function tryFilters(query: URLSearchParams): string {
  try {
    const filters = readFilters(query);
    const text = filterQuery(filters);
    requireSame(filters, readFilters(new URLSearchParams(text)), "the filters");
    return text.replace(/=[^&]*/g, "");
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    return error.wanted;
  }
}

const EVENTS = eachKind().map((event) => JSON.stringify(event));
const RECEIVERS = [
  newReceiver("discord", "https://e.example/"),
  newReceiver("slack", "https://e.example/"),
  newReceiver("ntfy", "https://e.example/t"),
  newReceiver("json", "https://e.example/", { text: '"{message} {time}"', source: "t" }),
];

/** The readers of messages, requests and events. */
export const NETWORKED_SUBJECTS: readonly Subject[] = [
  rows,
  textReader("campaignSpec", NATS, [SPEC], (text) => {
    const spec = parseSpec(text, PROTOCOLS);
    requireSame(formatSpec(spec), formatSpec(parseSpec(formatSpec(spec), PROTOCOLS)), "it");
    return "";
  }),
  textReader(
    "lease",
    NATS,
    [LEASE],
    (text) => {
      const value = parseLeaseValue(text);
      requireSame(value, parseLeaseValue(formatLeaseValue(value)), "the lease");
      return value.state;
    },
    FieldError,
  ),
  textReader("partEnd", NATS, [PART_END], (text) => {
    const end = parsePartEnd(text);
    requireSame(end, parsePartEnd(formatPartEnd(end)), "the end of a part");
    return "";
  }, FieldError),
  textReader(
    "natsNames",
    NATS,
    [
      "bs.results.lab-2.12.rows",
      "lease.lab-2.12",
      "0a000001",
      `${"0".repeat(31)}1`,
    ],
    (text) => {
      const address = parseOptOutKey(text);
      if (address !== undefined) requireSame(optOutKey(address), text, "the key");
      const lease = parseLeaseKey(text);
      if (lease !== undefined) requireSame(leaseKey(lease.campaign, lease.part), text, "the key");
      return parseResultSubject(text)?.kind ?? (address === undefined ? undefined : "address");
    },
  ),
  textReader("natsUrls", "a user", ["nats://ann:secret@10.0.0.1,tls://[::1]:4333"], (text) => {
    const { shownUrls: place, password } = parseNatsUrls(text);
    // A short password may be a part of another word.
    if (password !== undefined && password.length > 20 && place.includes(password)) {
      throw new BrokenRule("a message would show the password");
    }
    return "";
  }),
  storedLeases,
  requests,
  dashboardPaths,
  textReader("filters", CLIENT, [
    "port=25565&port=19132&text=&min_players=5&country=DE&protocol=raknet",
    "software=Paper&version=1.21&online=true&sort=name&tag=a&asn=64500",
  ], (text) => tryFilters(new URLSearchParams(text))),
  textReader(
    "cursors",
    CLIENT,
    [
      serversCursor("name", { direction: "after", position: ["lobby", 7] }),
      "1764142000000-812-40",
    ],
    (text) => {
      const cursor = readServersCursor(text);
      if (cursor !== undefined) {
        const again = readServersCursor(serversCursor(cursor.sort, cursor.at));
        requireSame(cursor, again, "the cursor");
      }
      return cursor?.sort ?? (parseEventCursor(text) === undefined ? undefined : "event");
    },
  ),
  textReader("probeTarget", CLIENT, ["192.0.2.1:19132", "[::1]:1", "play.example:1"], (text) => {
    parseProbeTarget(text);
    return "";
  }),
  textReader("metricsPlace", "a user", ["9150", "127.0.0.1:9150", "[::]:1"], (text) => {
    parseMetrics(text);
    return "";
  }),
  textReader("watchEvent", "a user of the machine", EVENTS, (text) => {
    const event = validEvent(parseRow(text));
    if (event === undefined) return undefined;
    for (const { body } of RECEIVERS) JSON.parse(new TextDecoder().decode(body([event])));
    return event.event;
  }),
  textReader("textTemplate", "a user", ["{name} {event}\n", "{{x}}"], (text) => {
    const render = parseTextTemplate(text, "a");
    for (const event of eachKind()) render(event, (one) => one);
    return "";
  }),
  textReader("jsonTemplate", "a user", ['{"a":["{message}",1,{"b":"{time}"}]}'], (text) => {
    const render = parseJsonTemplate(text, "a");
    for (const event of eachKind()) JSON.stringify(render(event));
    return "";
  }),
];
