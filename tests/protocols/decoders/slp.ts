import * as slp from "../../../src/protocols/slp/mod.ts";
import { slpProtocol } from "../../../src/protocols/slp/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

/** Server List Ping's decoders. */
export const SLP_DECODERS: Record<string, Decoder> = {
  slpRequest: decoder(slp.decodeStatusRequest, slp.encodeStatusRequest),
  slpResponse: decoder(
    (bytes) => {
      const response = slp.decodeStatusResponse(bytes);
      return response && { ...response, java: slp.parseStatus(response.json) };
    },
    slp.encodeStatusResponse,
    {
      statement: ({ java, trailing }) =>
        slpProtocol.record(
          java.kind === "disconnect"
            ? java
            : { kind: "status", java, trailing: trailing.length, pongDiffers: false },
        ),
    },
  ),
  slpPing: decoder(slp.decodeSlpPing, slp.encodeSlpPing),
  slpLegacyPing: decoder(slp.decodeLegacyPing, slp.encodeLegacyPing),
  slpLegacyReply: decoder(slp.decodeLegacyReply, slp.encodeLegacyReply, {
    partFlags: ["lengthMismatch"],
    statement: (reply) => slpProtocol.record({ kind: "legacy", reply, requestForm: "fe01" }),
  }),
};
