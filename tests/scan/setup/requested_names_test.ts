import { assertEquals } from "@std/assert";
import {
  otherRequests,
  requestedName,
  sharedRequests,
} from "../../../src/scan/setup/requested_names.ts";

const ADDRESS = 0x0a000001;
const OTHER = 0x0a000002;
const request = (requestedAs: string | null, port?: number, address = ADDRESS) => ({
  address,
  port,
  requestedAs,
});
const others = (
  requests: ReturnType<typeof sharedRequests>,
  requested_as: string | null,
  port = 7,
  host = "10.0.0.1",
) => otherRequests(requests, { host, port, requested_as });

Deno.test("an endpoint to which several names lead has each of them", () => {
  const requests = sharedRequests([
    request("a.example"),
    request("b.example", 7),
    request("b.example", 7),
    request(null, 8),
    request("single.example", 7, OTHER),
  ]);
  assertEquals([...requests.keys()], [ADDRESS]);
  assertEquals(others(requests, "a.example"), ["b.example"]);
  assertEquals(others(requests, "b.example"), ["a.example"]);
  assertEquals(others(requests, "a.example", 8), [null]);
  assertEquals(others(requests, "single.example", 7, "10.0.0.2"), []);
  assertEquals(others(requests, null, 7, "no address"), []);
});

Deno.test("a name with an SRV record that leads to an endpoint counts once as a server of this endpoint", () => {
  const led = "a.example SRV mc.example:7";
  const requests = sharedRequests([request("a.example"), request(led, 7), request("b.example")]);
  assertEquals(others(requests, led), ["b.example"]);
  assertEquals(others(requests, "b.example"), [led]);
  assertEquals(others(requests, "b.example", 9), ["a.example"]);
});

Deno.test("a name given with a port does not apply to other ports", () => {
  const requests = sharedRequests([request("a.example", 7), request("b.example", 8)]);
  const targets = { names: new Map([[ADDRESS, "b.example"]]), requests };
  const nameAt = (port: number) => requestedName(targets, { address: ADDRESS, port }).column;
  assertEquals([7, 8, 9].map(nameAt), ["a.example", "b.example", null]);
});
