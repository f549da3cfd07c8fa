import { expect, test } from "vitest";
import type { ExtensionAPI } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

const models = [{ id: "m" }];
const baseUrl = "http://127.0.0.1:1/v1";

test("what an extension says of its provider again adds to it; each can take away its own alone", async () => {
  const apis: ExtensionAPI[] = [];
  const holding = (bonsai: ExtensionAPI) => void apis.push(bonsai);
  await using session = await openTestSession({
    extensions: [
      holding,
      holding,
      (bonsai) =>
        void bonsai.registerCommand("look", {
          handler: (_args, { ui, modelRegistry }) =>
            ui.notify(JSON.stringify([modelRegistry.find("near", "m")?.baseUrl ?? null])),
        }),
    ],
    ui: {},
  });
  const [one, other] = apis as [ExtensionAPI, ExtensionAPI];
  const url = async () => {
    await session.command("/look");
    return JSON.parse(String(session.ui.at(-1)?.args[0]))[0];
  };
  one.registerProvider("near", { baseUrl, api: "openai-chat", models });
  expect(await url()).toBe(baseUrl);
  one.registerProvider("near", { baseUrl: `${baseUrl}/2` });
  expect(await url()).toBe(`${baseUrl}/2`);
  other.unregisterProvider("near");
  expect(await url()).toBe(`${baseUrl}/2`);
  one.unregisterProvider("near");
  one.unregisterProvider("near");
  expect(await url()).toBeNull();
  const undo = one.registerProvider("near", { baseUrl, api: "openai-chat", models });
  undo();
  expect(await url()).toBeNull();
  one.registerProvider("near", { baseUrl, api: "openai-chat", models });
  session.extensions.unload();
  await expect(session.command("/look")).rejects.toMatchObject({ code: "extension_command_unknown" });
});
