import { assertEquals } from "@std/assert";
import {
  bridgedMotd,
  bridgeSide,
  isDefaultMotd,
  isNetworkProxy,
} from "../../src/classify/software_facts.ts";
import schema from "../../data/software.schema.json" with { type: "json" };

Deno.test("default MOTDs are recognised as whole texts", () => {
  assertEquals(
    ["A Minecraft Server", "Geyser", "A Minecraft Serve", "a Minecraft Server", ""]
      .map(isDefaultMotd),
    [true, true, false, false, false],
  );
});

Deno.test("a bridge between editions is not a proxy of a network, and every other proxy is", () => {
  const proxies = schema.properties.rules.items.properties.proxy.enum;
  assertEquals(proxies.filter(isNetworkProxy), ["velocity", "bungee", "waterdog"]);
  assertEquals(isNetworkProxy(null), false);
  assertEquals(proxies.map((proxy) => bridgeSide({ edition: "bedrock", proxy })), [
    undefined,
    undefined,
    undefined,
    "bridge",
  ]);
  assertEquals(bridgeSide({ edition: "java", proxy: "velocity" }), "bridged");
  assertEquals(bridgeSide({ edition: "bedrock", proxy: null }), undefined);
});

Deno.test("a bridge repeats the first line of a MOTD in plain text, and cannot write a semicolon", () => {
  assertEquals(bridgedMotd("§aSky; now\nSecond"), "Sky: now");
  assertEquals(bridgedMotd("Sky"), "Sky");
});
