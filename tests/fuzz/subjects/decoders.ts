/** The decoders of messages, by the rules that the golden messages are tested with. */
import { decodeAdvertisement } from "../../../src/protocols/raknet/mod.ts";
import { GOLDEN } from "../../golden/mod.ts";
import { type Decoder, DECODERS, toJson } from "../../protocols/decoders/mod.ts";
import { attempt, flagsOf, part, settled } from "../../protocols/parts.ts";
import { hasBytes, Malformed, Truncated } from "../../../src/core/bytes.ts";
import { BrokenRule, refusal, type Subject } from "../subject.ts";

const print = (value: unknown) => JSON.stringify(toJson(value));

/**
 * Encodes a value and decodes it again. Flags of the first message, such as a length that does not
 * match, are not part of the second one, so only values without flags are compared.
 *
 * @returns Whether the encoder gives the bytes of the message.
 */
function checkEncoder(decoder: Decoder, value: unknown, bytes: Uint8Array): boolean {
  if (flagsOf(value).length > 0) return false;
  const encoded = decoder.encode(value);
  if (isEqual(encoded, bytes)) return true;
  const again = attempt(decoder, encoded);
  if (print(again) === print(value)) return false;
  throw new BrokenRule(`${print(value)} is encoded and decoded as ${print(again)}`);
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && hasBytes(a, b, 0);
}

function subjectOf(name: string, decoder: Decoder): Subject {
  const golden = GOLDEN.filter((one) => one.decoder === name);
  const encodes = golden.some((one) => one.encodes);
  return {
    name,
    from: golden.every(({ from }) => from === "client") ? "a client" : "a host",
    seeds: golden.map(({ bytes }) => bytes),
    check(bytes) {
      const value = attempt(decoder, bytes);
      if (value === undefined) return "-";
      if (value instanceof Error) return refusal(value, [Truncated, Malformed]);
      settled(decoder, value);
      // A message that the encoder writes so has nothing behind it, and its prefixes lack something.
      if (encodes && checkEncoder(decoder, value, bytes)) {
        part(decoder, bytes, (bytes.length * 7 + bytes[bytes.length - 1]) % bytes.length);
      }
      return `+${flagsOf(value).join()}`;
    },
  };
}

/** The decoder of advertisements, which never throws. */
const advertisement: Subject = {
  name: "advertisement",
  from: "a host",
  seeds: GOLDEN.filter(({ decoder }) => decoder === "pong").map(({ bytes }) => bytes.subarray(35)),
  check(bytes) {
    const status = decodeAdvertisement(bytes);
    return status === undefined ? "-" : `+${Object.values(status).map((one) => typeof one).join()}`;
  },
};

/** The decoders of protocols. */
export const DECODER_SUBJECTS: readonly Subject[] = [
  ...Object.entries(DECODERS).map(([name, decoder]) => subjectOf(name, decoder)),
  advertisement,
];
export { subjectOf as decoderSubject };
