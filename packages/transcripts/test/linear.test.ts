import { redactSecrets } from "@bonsai-agent/messages";
import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { userDrafts } from "../src/injected.ts";

/** A reader that starts over at each place takes minutes for the larger one. */
const CHARS = process.env.LAW_RUNS ? 250_000 : 64_000;

test.each(adversarialTexts(CHARS))("a long text of %s in a user message is read once", (_name, text) => {
  expect(userDrafts({ content: [{ type: "text", text }], customType: "x", at: undefined })).not.toEqual([]);
  redactSecrets(text);
});
