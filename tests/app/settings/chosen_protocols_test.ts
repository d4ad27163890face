import { assertEquals, assertThrows } from "@std/assert";
import { chosenVerify } from "../../../src/app/settings/chosen_protocols.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

Deno.test("--verify without a protocol that verifies servers is refused, with those that do", () => {
  const able = PROTOCOLS.filter(({ verify }) => verify !== undefined);
  const others = PROTOCOLS.filter(({ verify }) => verify === undefined).slice(0, 1);
  const refused: [allProtocols: typeof PROTOCOLS, end: string][] = [
    [others, "no protocol verifies servers"],
    [[...able, ...others], "it needs raknet"],
    [[...able, { ...able[0], name: "other" }, ...others], "it needs one of raknet, other"],
  ];
  for (const [allProtocols, end] of refused) {
    const message = `Cannot use --verify with --protocol ${others[0].name}: ${end}`;
    const error = assertThrows(
      () => chosenVerify({ verify: true, protocol: others, allProtocols }),
      InputError,
    );
    assertEquals(error.message, message);
  }
});

Deno.test("servers are verified only with --verify", () => {
  const verified = (verify: boolean) =>
    chosenVerify({ verify, protocol: PROTOCOLS, allProtocols: PROTOCOLS });
  assertEquals([verified(true), verified(false)], [true, false]);
});
