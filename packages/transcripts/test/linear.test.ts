import { redactSecrets } from "@bonsai-agent/messages";
import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { userDrafts } from "../src/import/injected.ts";

test.each(adversarialTexts())("a long text of %s in a user message takes linear time", (_name, text) => {
  expect(userDrafts({ content: [{ type: "text", text }], customType: "x", at: undefined })).not.toEqual([]);
  redactSecrets(text);
});
