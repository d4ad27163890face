import { assertEquals } from "@std/assert";
import { MovedNames } from "../../../src/app/names/moved_names.ts";
import { type Address, formatEndpoint, parseAddress } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import type { Service } from "../../../src/targets/srv.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const rules = {
  intervalMs: 60_000,
  downAfter: 3,
  scanId: "w",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};
const address = (text: string) => parseAddress(text)!;
const at = (text: string, port: number) => ({ address: address(text), port });

/** Names whose records a test changes. */
function scene(records: Record<string, string[]>, services: Record<string, Service> = {}) {
  const network = new FakeNetwork(1);
  const controller = new AbortController();
  const lines: string[] = [];
  const lookups: string[] = [];
  const names = new MovedNames({
    lookups: {
      resolve: (name): Promise<Address[]> => {
        lookups.push(name);
        const found = records[name];
        if (found === undefined) return Promise.reject(new InputError(`Cannot find ${name}`));
        return Promise.resolve(found.map(address));
      },
      findService: (name) => Promise.resolve(services[name]),
    },
    allowPrivate: false,
    families: [4],
    onMove: () => {},
    clock: network,
    signal: controller.signal,
    report: (line) => lines.push(line),
  });
  const follow = (servers: readonly WatchedServer[], ms: number) => {
    network.after(ms, () => controller.abort());
    return network.run(names.follow(servers));
  };
  return { records, names, lines, lookups, follow, network };
}

Deno.test("a server keeps its key and state when its name leads to another address", async () => {
  const { records, names, lines } = scene({ "a.example": ["5.6.7.1"] });
  const [moved, other] = ["a.example", null].map((name) =>
    new WatchedServer(at("5.6.7.1", 19132), name, rules)
  );
  moved.addFailure(1);
  records["a.example"] = ["5.6.7.9"];
  for (const server of [moved, other]) await names.lookUp(server);
  assertEquals(formatEndpoint(moved.endpoint), "5.6.7.9:19132");
  assertEquals([moved.identity.key, moved.identity.address], ["a.example:19132", "5.6.7.9"]);
  assertEquals([moved.misses, formatEndpoint(other.endpoint)], [1, "5.6.7.1:19132"]);
  assertEquals(lines, ["a.example moved from 5.6.7.1:19132 to 5.6.7.9:19132"]);
});

Deno.test("a server stays while its name leads to its address, fails, or leads to addresses that are not used", async () => {
  const { records, names, lines } = scene({});
  const server = new WatchedServer(at("5.6.7.1", 19132), "a.example", rules);
  const results = [["5.6.7.7", "5.6.7.1"], undefined, ["10.0.0.1"], ["2001:db8::1"], [
    "224.0.0.1",
  ]];
  for (const found of results) {
    if (found === undefined) delete records["a.example"];
    else records["a.example"] = found;
    await names.lookUp(server);
    assertEquals(formatEndpoint(server.endpoint), "5.6.7.1:19132");
  }
  assertEquals(lines, []);
});

Deno.test("a server follows its SRV record to another host and port", async () => {
  const service = { host: "mc2.example", port: 25570 };
  const { names } = scene({ "mc2.example": ["5.6.7.2"] }, { "a.example": service });
  const queried = "a.example SRV mc1.example:25565";
  const server = new WatchedServer(at("5.6.7.1", 25565), "a.example", rules, undefined, queried);
  await names.lookUp(server);
  assertEquals(formatEndpoint(server.endpoint), "5.6.7.2:25570");
  assertEquals(server.identity.key, "a.example");
  assertEquals(server.requestedAs, "a.example SRV mc2.example:25570");
});

Deno.test("each name is looked up once a minute, also those of servers that were added", async () => {
  const { lookups, follow, network } = scene({
    "a.example": ["5.6.7.1"],
    "b.example": ["5.6.7.1"],
  });
  const servers = [new WatchedServer(at("5.6.7.1", 19132), "a.example", rules)];
  const added = new WatchedServer(at("5.6.7.1", 19132), "b.example", rules);
  network.after(90_000, () => servers.push(added));
  await follow(servers, 299_000);
  const count = (name: string) => lookups.filter((one) => one === name).length;
  assertEquals([count("a.example"), count("b.example")], [5, 3]);
});
