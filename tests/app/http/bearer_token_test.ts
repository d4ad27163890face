import { assert } from "@std/assert";
import { hasBearerToken, isSameSecret, TOKEN_FORM } from "../../../src/app/http/bearer_token.ts";

Deno.test("only a whole token in the header Authorization is accepted", () => {
  const has = (value: string) => hasBearerToken(new Map([["authorization", value]]), "abc123");
  assert(["Bearer abc123", "bearer  abc123", "BEARER abc123"].every(has));
  assert(!["", "abc123", "Bearer", "Bearer abc12", "Bearer abc1234", "Basic abc123"].some(has));
  assert(!hasBearerToken(new Map(), "abc123"));
  assert(isSameSecret("ä", "ä") && !isSameSecret("ä", "a"));
  assert(["a+/-._~=", "Z9=="].every((text) => TOKEN_FORM.test(text)));
  assert(["", "a b", "=a", "ä", "a\n"].every((text) => !TOKEN_FORM.test(text)));
});
