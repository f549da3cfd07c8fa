import { type Agent, ToolRegistry } from "@bonsai-agent/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ExtensionScope } from "../src/host/extension-scope.ts";
import { type Extensions, loadExtensions } from "../src/host/extensions.ts";
import { Registrations } from "../src/host/registrations.ts";
import type { InlineExtension } from "../src/host/start-extension.ts";
import type { ExtensionAPI } from "../src/index.ts";
import { bareHost } from "./bare-host.ts";
import { saying } from "./test-tool.ts";

test("Invariant: after any undo, the result is as if only the remaining registrations had ever been made", () => {
  const options = { what: "number", wins: "later" as const, onNotice() {} };
  const scope = new ExtensionScope({ path: "/x", source: "x" });
  const entry = fc.record({ name: fc.constantFrom("a", "b", "c"), keep: fc.boolean(), at: fc.double() });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const all = new Registrations<number>(options);
      const undos = entries.map(({ name }, value) => all.add({ name, value, scope }));
      const gone = entries.flatMap(({ keep, at }, index) => (keep ? [] : [{ at, index }]));
      for (const { index } of gone.sort((one, two) => one.at - two.at)) {
        undos[index]!();
        undos[index]!();
      }
      const left = new Registrations<number>(options);
      for (const [value, { name, keep }] of entries.entries()) if (keep) left.add({ name, value, scope });
      expect(all.standing()).toEqual(left.standing());
    }),
  );
});

const kinds = ["on", "tool", "command", "flag", "shortcut"] as const;
interface Registered {
  kind: (typeof kinds)[number];
  name: string;
  /** Another for each of two that have one name. */
  mark: number;
}

/** A world of its own: what extensions registered in it can be looked at. */
class World {
  readonly inline: InlineExtension[] = [];
  readonly called: string[] = [];
  readonly host = bareHost();
  tools = new ToolRegistry();
  extensions!: Extensions;

  async open(): Promise<this> {
    this.tools.register(toolOf("builtin", 0));
    this.extensions = await loadExtensions({
      host: this.host,
      find: () => ({ extensions: [], problems: [] }),
      modules: {},
      inline: this.inline,
    });
    this.extensions.attach({ tools: this.tools } as Agent);
    return this;
  }

  attachAnother(): void {
    this.tools = new ToolRegistry();
    this.tools.register(toolOf("builtin", 0));
    this.extensions.attach({ tools: this.tools } as Agent);
  }

  register(bonsai: ExtensionAPI, who: string, { kind, name, mark }: Registered): () => void {
    const description = `${who} ${mark}`;
    const handler = () => {};
    switch (kind) {
      case "on":
        return bonsai.on("agent_start", () => void this.called.push(`${who} ${name} ${mark}`));
      case "tool":
        return bonsai.registerTool({ ...saying(name), description });
      case "command":
        return bonsai.registerCommand(name, { description, handler });
      case "flag":
        return bonsai.registerFlag(name, { description, type: "boolean" });
      case "shortcut":
        return bonsai.registerShortcut(name, { description, handler });
    }
  }

  async seen(): Promise<unknown> {
    this.called.length = 0;
    await this.host.lifecycle.notify("agent_start", { type: "agent_start" });
    const { commands, flags, shortcuts, loaded } = this.extensions;
    return {
      called: [...this.called],
      loaded: loaded.map(({ path }) => path),
      tools: this.tools.declarations().map(({ name, description }) => [name, description]),
      commands: commands.map(({ name, description }) => [name, description]),
      flags: [...flags].map(([name, { description }]) => [name, description]),
      shortcuts: [...shortcuts].map(([name, { description }]) => [name, description]),
    };
  }
}

function toolOf(name: string, mark: number) {
  const { parameters } = saying(name);
  return {
    name,
    description: `built in ${mark}`,
    parameters: parameters as Record<string, unknown>,
    execute: async () => ({ content: [] }),
  };
}

interface Standing {
  who: string;
  part: Registered;
  undo: () => void;
}

/** A second registration of a name replaces the first of the same extension. */
function isReplaced(earlier: Standing, { who: name, part }: Standing): boolean {
  return (
    part.kind !== "on" &&
    earlier.who === name &&
    earlier.part.kind === part.kind &&
    earlier.part.name === part.name
  );
}

const registered = fc.record({
  kind: fc.constantFrom(...kinds),
  name: fc.constantFrom("a", "b", "builtin"),
  mark: fc.nat(),
});
const who = fc.constantFrom("x", "y", "z");
const extension = fc.record({ who, parts: fc.array(registered, { maxLength: 4 }), fails: fc.boolean() });
const step = fc.oneof(
  fc.record({
    do: fc.constant("reload" as const),
    with: fc.uniqueArray(extension, { selector: (e) => e.who }),
  }),
  fc.record({ do: fc.constant("register" as const), who, part: registered }),
  fc.record({ do: fc.constant("undo" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("unload" as const) }),
  fc.record({ do: fc.constant("attach" as const) }),
);

test("Invariant: after any loads, reloads and unloads, only the present extensions have an effect", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const world = await new World().open();
      let present = new Map<string, ExtensionAPI>();
      let left: Standing[] = [];
      const add = (one: Standing) => {
        left = [...left.filter((other) => !isReplaced(other, one)), one];
      };
      for (const each of steps) {
        if (each.do === "attach") world.attachAnother();
        if (each.do === "unload" || each.do === "reload") {
          present = new Map();
          left = [];
        }
        if (each.do === "unload") world.extensions.unload();
        if (each.do === "register") {
          const { part } = each;
          const bonsai = present.get(each.who);
          if (bonsai === undefined) continue;
          add({ who: each.who, part, undo: world.register(bonsai, each.who, part) });
        }
        if (each.do === "undo" && left.length > 0) {
          const [gone] = left.splice(each.at % left.length, 1);
          gone!.undo();
          gone!.undo();
        }
        if (each.do === "reload") {
          const factories = each.with.map((one) => ({
            name: one.who,
            factory: async (bonsai: ExtensionAPI) => {
              const own = one.parts.map((part) => ({
                who: one.who,
                part,
                undo: world.register(bonsai, one.who, part),
              }));
              await Promise.resolve();
              if (one.fails) throw new Error("It fails.");
              present.set(one.who, bonsai);
              for (const each of own) add(each);
            },
          }));
          world.inline.splice(0, Infinity, ...factories);
          await world.extensions.reload();
        }
      }
      const fresh = new World();
      const apis = new Map<string, ExtensionAPI>();
      for (const name of present.keys())
        fresh.inline.push({ name, factory: (bonsai) => void apis.set(name, bonsai) });
      await fresh.open();
      for (const { who: name, part } of left) fresh.register(apis.get(name)!, name, part);
      expect(await world.seen()).toEqual(await fresh.seen());
      world.extensions.unload();
      expect(await world.seen()).toEqual(await (await new World().open()).seen());
    }),
  );
});
