import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageContent } from "@bonsai-agent/messages";
import type { ProviderCall } from "@bonsai-agent/models";
import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { createSession, openSession } from "@bonsai-agent/session";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { actor, scriptedAgent } from "./scripted-agent.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-refused-image-"));
afterAll(() => rmSync(folder, { recursive: true }));

const image: ImageContent = { type: "image", data: "QUJD", mimeType: "image/png" };
const camera = defineTool({
  name: "camera",
  description: "Shows an image.",
  parameters: z.object({}),
  execute: async () => ({ content: [{ type: "text", text: "A shot." }, image] }),
});
const hasImage = ({ messages }: ProviderCall) => JSON.stringify(messages).includes(image.data);

/** Refuses every request with an image. The refusal does not mention images. */
const strict = (call: ProviderCall): ScenarioAnswer =>
  hasImage(call)
    ? { error: { status: 400, message: "Invalid request" } }
    : { text: "Fine.", thinking: "Hm." };

/** Calls the camera once. */
const caller = (call: ProviderCall): ScenarioAnswer =>
  call.messages.length === 1 ? { calls: [{ name: "camera", arguments: {} }] } : strict(call);

describe("a session with a refused image", () => {
  test.each([
    ["from the user", strict, { images: [image] }],
    ["from a tool", caller, {}],
  ])("answers now, at the next prompt and after a reopening, with an image %s", async (name, turn, more) => {
    const file = join(folder, `${name}.jsonl`);
    const tools = [camera];
    const first = scriptedAgent({ turn, tools, session: createSession({ cwd: "/project", file }) });
    expect((await first.agent.prompt("look", more)).status).toBe("done");
    expect(first.notices.map(({ code }) => code)).toEqual(["image_refused"]);
    const asked = first.turns.length;
    expect((await first.agent.prompt("more")).status).toBe("done");
    expect(first.turns.slice(asked).map(hasImage)).toEqual([false]);
    await first.agent.close();
    const again = scriptedAgent({ turn: strict, tools, session: openSession(file) });
    expect((await again.agent.prompt("and more")).status).toBe("done");
    expect(again.turns.map(hasImage)).toEqual([false]);
    expect(JSON.stringify(again.turns[0]!.messages)).toContain("the provider refused it: Invalid request");
    expect(again.notices).toEqual([]);
    await again.agent.close();
    expect(readFileSync(file, "utf8")).toContain(image.data);
  });

  test("shows the image again to another model, once", async () => {
    const turn = (call: ProviderCall) => (call.model.id === actor.id ? strict(call) : { text: "I see." });
    const { agent, turns } = scriptedAgent({ turn });
    await agent.prompt("look", { images: [image] });
    await agent.setModel({ ...actor, id: "other" });
    expect((await agent.prompt("now")).status).toBe("done");
    expect((await agent.prompt("and now")).status).toBe("done");
    expect(turns.map(hasImage)).toEqual([true, false, true, true]);
    await agent.setModel({ ...actor, id: "blind", input: ["text"] });
    await agent.prompt("and you");
    expect(hasImage(turns.at(-1)!)).toBe(false);
    await agent.close();
  });
});
