import { assertEquals } from "@std/assert";
import { foreignLineReader } from "../../../src/sinks/foreign/foreign_files.ts";
import { readAlike } from "./reading.ts";

Deno.test("naabu's CSV is read by its addresses, also with repeated heads", async () => {
  const full = "host,ip,port,protocol,tls,cdn,cdn-name,timestamp\n" +
    ",10.0.0.7,25565,tcp,false,false,,2026-11-20 10:00:01.000000001 +0000 UTC\n" +
    "play.example.org,10.0.0.8,25566,tcp,false,false,,2026-11-20 10:00:02 +0000 UTC\n";
  assertEquals(await readAlike(full), ["10.0.0.7:25565", "10.0.0.8:25566"]);
  assertEquals(await readAlike("ip,port\n10.0.0.9,25565\nip,port\n10.0.0.10,19132\n"), [
    ...["10.0.0.9:25565", "10.0.0.10:19132"],
  ]);
});

Deno.test("lines of a host and a port are read with any separator, as zmap writes them without a head", async () => {
  for (const line of ["10.0.0.7,25565", "10.0.0.7,,,25565", "10.0.0.7\t25565", "10.0.0.7  25565"]) {
    assertEquals(await readAlike(line), ["10.0.0.7:25565"]);
  }
  assertEquals(await readAlike("::1;5"), ["[::1]:5"]);
  const read = foreignLineReader({ seenAt: 5 });
  assertEquals(read("play.example.org 25566"), { text: "play.example.org:25566" });
  assertEquals(read("10.0.0.1, 10.0.0.2"), { text: "10.0.0.1, 10.0.0.2" });
});

Deno.test("rows that a spreadsheet has saved are read right, or refused", async () => {
  const head = "host;port;guid;version;joinable;seen_at;players";
  const row = (guid: string, version = "1.21", seen = "1795245523000", joinable = "TRUE") =>
    `10.0.0.7;19132;${guid};${version};${joinable};${seen};"[""Ann""]"`;
  const right = [row("13876543210987654321"), row("", "", "5", "FALSE")];
  assertEquals(await readAlike([head, ...right].join("\r\n")), [
    "10.0.0.7:19132",
    "10.0.0.7:19132",
  ]);
  const changed = [
    row("1.38765E+19"),
    row("1,38765E+19"),
    row("13876543210987600000"),
    row("1", "20.01.2001"),
    row("1", "1/20/2001"),
    row("1", "20-Jan"),
    row("1", "1.21", "1.79525E+12"),
    row("1", "1.21", "1.795.245.523.000"),
    row("1", "1.21", "5", "WAHR"),
  ];
  for (const line of changed) assertEquals(await readAlike(`${head}\n${line}`), ["? 2"], line);
  // a program's own file may have such a GUID
  const own = "host,port,guid,joinable\n::1,5,13876543210987600000,true\n";
  assertEquals(await readAlike(own), ["[::1]:5"]);
  assertEquals(await readAlike(own.replace("true", "TRUE")), ["? 2"]);
});
