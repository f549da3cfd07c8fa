import { redactSecrets } from "@bonsai-agent/messages";
import { adversarialTexts, everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { userDrafts } from "../src/import/injected.ts";

test("a long text in a user message takes linear time", () =>
  everyRow(adversarialTexts())(([, text]) => {
    expect(userDrafts([{ type: "text", text }], "x")).not.toEqual([]);
    redactSecrets(text);
  }));
