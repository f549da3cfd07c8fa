import { redactSecrets } from "@bonsai-agent/messages";
import { adversarialTexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { userDrafts } from "../src/import/injected.ts";

test.each(adversarialTexts())("a long text of %s in a user message takes linear time", (_name, text) => {
  expect(userDrafts([{ type: "text", text }], "x")).not.toEqual([]);
  redactSecrets(text);
});
