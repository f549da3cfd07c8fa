/** Extensions for the installed command, by the path of their files. They stand here as texts: nothing beside them is installed. */

/** With syntax that Node does not strip, a file of its own, and zod. */
const own = {
  "own/index.ts": `
    import type { ExtensionAPI } from "@bonsai-agent/extension";
    import { z } from "zod";
    import { sides, Sides } from "./sides.ts";
    export default function (bonsai: ExtensionAPI) {
      bonsai.registerTool({
        name: "dice", description: "throws a die", parameters: z.object({ kind: z.enum(["small", "large"]) }),
        execute: async (_id, { kind }) => ({ content: [{ type: "text", text: kind + ": " + sides(Sides[kind]) }], details: {} }),
      });
      bonsai.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) =>
        ({ compaction: { summary: "Much was done.", firstKeptEntryId, tokensBefore } }));
    }`,
  "own/sides.ts": `
    export enum Sides { small = 6, large = 20 }
    export const sides = (count: Sides): string => count + " sides";`,
};

/** As people write them for pi. */
const pi = {
  "pi.ts": `
    import { StringEnum } from "@earendil-works/pi-ai";
    import { convertToLlm, type ExtensionAPI } from "@earendil-works/pi-coding-agent";
    import { Type } from "typebox";
    export default function (pi: ExtensionAPI) {
      pi.registerTool({
        name: "greet", label: "Greet", description: "greets",
        parameters: Type.Object({ tone: StringEnum(["warm", "cool"] as const), name: Type.String() }),
        execute: async (_id, { tone, name }) =>
          ({ content: [{ type: "text", text: [tone, name, convertToLlm([]).length].join(" ") }], details: {} }),
      });
    }`,
};

/** Everything of pi that draws, asks models or starts programs. */
const drawn = {
  "drawn.ts": `
    import { Agent } from "@mariozechner/pi-agent-core";
    import { complete, createAssistantMessageEventStream } from "@mariozechner/pi-ai";
    import {
      createAgentSession, CustomEditor, DefaultResourceLoader, type ExtensionAPI, ModelRuntime, resizeImage, SessionManager,
    } from "@mariozechner/pi-coding-agent";
    import { Text, visibleWidth } from "@mariozechner/pi-tui";
    import { Type } from "@sinclair/typebox";

    class MarkedEditor extends CustomEditor {
      render(width: number): string[] {
        return ["[ editor of an extension ]", ...super.render(width)];
      }
    }
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } };
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

    export default function (pi: ExtensionAPI) {
      pi.on("session_start", (_event, ctx) =>
        ctx.ui.setEditorComponent((tui, theme, keys) => new MarkedEditor(tui, theme, keys)));
      pi.on("resources_discover", () => ({ themePaths: [import.meta.dirname + "/paint.json"] }));
      pi.registerProvider("echo", {
        baseUrl: "http://127.0.0.1:9", apiKey: "none", api: "echo",
        models: [{ id: "one", name: "One", reasoning: false, input: ["text"], contextWindow: 9000, maxTokens: 90 }],
        streamSimple(model, context) {
          const stream = createAssistantMessageEventStream();
          const text = "echo of " + JSON.stringify(context.messages.at(-1).content);
          const message = { role: "assistant", content: [{ type: "text", text }], api: "echo", provider: "echo",
            model: model.id, usage, stopReason: "stop", timestamp: 1 };
          stream.push({ type: "start", partial: { ...message, content: [] } });
          stream.push({ type: "done", reason: "stop", message });
          return stream;
        },
      });
      const facts = async (ctx) => {
        const model = ctx.modelRegistry.find("echo", "one");
        const asked = await complete(model, { messages: [{ role: "user", content: "hi", timestamp: 1 }] });
        const agent = new Agent({ initialState: { model } });
        await agent.prompt("there");
        const loader = new DefaultResourceLoader({ cwd: ctx.cwd, noExtensions: true, noContextFiles: true });
        await loader.reload();
        const modelRuntime = await ModelRuntime.create();
        const { session } = await createAgentSession({
          cwd: ctx.cwd, model, modelRuntime, resourceLoader: loader, sessionManager: SessionManager.inMemory(ctx.cwd) });
        await session.bindExtensions({});
        await session.prompt("child");
        const child = session.getLastAssistantText();
        await session.dispose();
        const small = await resizeImage(Buffer.from(pixel, "base64"), "image/png");
        const program = await pi.exec("pi", ["--version"]);
        const skill = /skills.bonsai/.test(ctx.getSystemPrompt());
        ctx.ui.setTheme("Paint");
        return {
          complete: asked.content[0].text, agent: agent.state.messages.at(-1).content[0].text, child,
          image: small.width + "x" + small.height, pi: program.stdout.trim(), skill,
          theme: ctx.ui.theme.name,
        };
      };
      pi.registerShortcut("alt+o", { handler: (ctx) =>
        ctx.ui.custom((_tui, _theme, _keys, done) => ({
          width: 24,
          render: (width) => new Text("overlay " + visibleWidth(" ".repeat(width)), 0, 0).render(width),
          handleInput: () => done(undefined),
          invalidate() {},
        }), { overlay: true }),
      });
      pi.registerTool({ name: "facts", label: "Facts", description: "Uses all of pi", parameters: Type.Object({}),
        execute: async (_id, _args, _signal, _onUpdate, ctx) =>
          ({ content: [{ type: "text", text: JSON.stringify(await facts(ctx)) }], details: {} }),
      });
      pi.registerTool({ name: "shout", label: "Shout", description: "shouts", parameters: Type.Object({ text: Type.String() }),
        execute: async (_id, { text }) => ({ content: [{ type: "text", text: text.toUpperCase() }], details: {} }),
        renderCall: (args) => new Text("shouting " + args.text, 0, 0),
      });
    }`,
};

export const packedExtensions: Readonly<Record<string, string>> = { ...own, ...pi, ...drawn };
