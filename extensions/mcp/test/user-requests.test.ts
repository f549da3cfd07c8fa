import type { ExtensionContext } from "@bonsai-agent/extension";
import { openTestSession, type TestDialogAnswers } from "@bonsai-agent/extension/testing";
import { Client, type ElicitRequestFormParams, InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { UserRequests } from "../src/user-requests.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Opened {
  server: Server;
  requests: UserRequests;
  session: Awaited<ReturnType<typeof openTestSession>>;
  opened: string[];
}

/** A server that asks whoever answers `ui`. */
async function openServer(ui: TestDialogAnswers | undefined, hasRoots = true): Promise<Opened> {
  let context: ExtensionContext | undefined;
  const session = await openTestSession({
    ...(ui && { ui }),
    extensions: (bonsai) => {
      bonsai.on("session_start", (_event, ctx) => {
        context = ctx;
      });
    },
  });
  const opened: string[] = [];
  const openBrowser = async (url: string) => opened.push(url) > 0;
  const requests = new UserRequests({ context: () => context, openBrowser });
  const client = new Client({ name: "test", version: "1" });
  requests.attach(client, { name: "asker", hasRoots, pauseCalls: () => () => {} });
  const server = new Server({ name: "asker", version: "1" }, { capabilities: {} });
  const [ofClient, ofServer] = InMemoryTransport.createLinkedPair();
  await Promise.all([client.connect(ofClient), server.connect(ofServer)]);
  closers.push(
    () => session.close(),
    () => client.close(),
  );
  return { server, requests, session, opened };
}

function form(
  properties: ElicitRequestFormParams["requestedSchema"]["properties"],
  required: string[] = [],
): ElicitRequestFormParams {
  return { message: "Who are you?", requestedSchema: { type: "object", properties, required } };
}

const asked = (session: Opened["session"], method: string) =>
  session.ui.filter((call) => call.method === method).map(({ args }) => args);

/** True for a text with an escape, or with what turns letters around. */
const steering = (text: string) => ["\u001b", "\u202e"].some((mark) => text.includes(mark));

/** Chooses what begins like that, one after the other. */
function choosing(...wanted: (string | undefined)[]) {
  return async (_title: string, options: string[]) => {
    const next = wanted.shift();
    if (next === undefined) return undefined;
    const found = options.find((option) => option.trim().startsWith(next));
    if (found === undefined) throw new Error(`None of ${options.join(" | ")} begins with ${next}`);
    return found;
  };
}

describe("a form", () => {
  test("is filled in field by field, each checked by its schema, and sent when the user says so", async () => {
    const { server, session } = await openServer({
      select: choosing("Fill", "yes", "Red", "[ ] b", "Done", "Send"),
      input: ["nobody", "me@example.com", "2.5", "200", "7", "2026-02-31", "2026-02-28"],
    });
    const answer = await server.elicitInput(
      form(
        {
          mail: { type: "string", title: "Mail", format: "email" },
          age: { type: "integer", minimum: 1, maximum: 100 },
          born: { type: "string", format: "date" },
          sure: { type: "boolean" },
          colour: { type: "string", oneOf: [{ const: "#f00", title: "Red" }] },
          several: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1 },
        },
        ["mail", "age"],
      ),
    );
    expect(answer).toEqual({
      action: "accept",
      content: {
        mail: "me@example.com",
        age: 7,
        born: "2026-02-28",
        sure: true,
        colour: "#f00",
        several: ["b"],
      },
    });
    const titles = asked(session, "input").map(([title]) => title);
    expect(titles[0]).toBe("MCP server asker: Mail *\nEnter an email address.");
    expect(titles[1]).toBe("MCP server asker: Mail *\nInvalid: nobody. Enter an email address.");
    expect(titles[3]).toContain("Invalid: 2.5. Enter a whole number, at least 1, at most 100.");
  });

  test("with defaults can be sent as it stands", async () => {
    const { server, session } = await openServer({ select: choosing("Send") });
    const answer = await server.elicitInput(
      form({ name: { type: "string", default: "Ann" }, on: { type: "boolean", default: false } }, ["name"]),
    );
    expect(answer).toEqual({ action: "accept", content: { name: "Ann", on: false } });
    const [[title, options]] = asked(session, "select") as [[string, string[]]];
    expect(title).toBe("MCP server asker asks:\nWho are you?");
    expect(options).toContain("  name *: Ann");
  });

  test("cannot be sent while something that must be given is missing", async () => {
    const { server, session } = await openServer({ select: choosing(undefined) });
    expect(await server.elicitInput(form({ name: { type: "string" } }, ["name"]))).toEqual({
      action: "cancel",
    });
    const [[, options]] = asked(session, "select") as [[string, string[]]];
    expect(options).not.toContain("Send");
  });

  test("can be declined, which is not the same as left", async () => {
    const { server } = await openServer({ select: choosing("Decline", undefined) });
    expect(await server.elicitInput(form({}))).toEqual({ action: "decline" });
    expect(await server.elicitInput(form({}))).toEqual({ action: "cancel" });
  });

  test("has nothing in it that could steer a terminal, and no line of its own making", async () => {
    const { server, session } = await openServer({ select: choosing(undefined) });
    await server.elicitInput({
      message: "\u001b[2JHello\u202e",
      requestedSchema: {
        type: "object",
        properties: { a: { type: "string", title: "A\nSend\u001b[31m", default: "x\ny" } },
      },
    });
    const [[title, options]] = asked(session, "select") as [[string, string[]]];
    expect(steering(title)).toBe(false);
    expect(options.some((option) => steering(option) || option.includes("\n"))).toBe(false);
    expect(options.filter((option) => option === "Send")).toHaveLength(1);
  });

  test("ends when the server does not wait any longer", async () => {
    const ended = Promise.withResolvers<string>();
    const { server } = await openServer({
      select: (_title, _options, settings) =>
        new Promise((resolve) => {
          settings?.signal?.addEventListener("abort", () => {
            ended.resolve("ended");
            resolve(undefined);
          });
          cancel.abort();
        }),
    });
    const cancel = new AbortController();
    await expect(server.elicitInput(form({}), { signal: cancel.signal })).rejects.toThrow();
    expect(await ended.promise).toBe("ended");
  });

  test("ends when the server dies", async () => {
    const ended = Promise.withResolvers<string>();
    const { server } = await openServer({
      select: (_title, _options, settings) =>
        new Promise((resolve) => {
          settings?.signal?.addEventListener("abort", () => {
            ended.resolve("ended");
            resolve(undefined);
          });
          void server.close();
        }),
    });
    await expect(server.elicitInput(form({}))).rejects.toThrow();
    expect(await ended.promise).toBe("ended");
  });
});

describe("a server that asks without an end", () => {
  test("is declined after some questions, with one notice, until the next prompt", async () => {
    const { server, session, requests } = await openServer({
      select: choosing(...Array(60).fill("Decline")),
    });
    for (let count = 0; count < 30; count++) await server.elicitInput(form({}));
    expect(asked(session, "select")).toHaveLength(20);
    expect(asked(session, "notify")).toHaveLength(1);
    requests.newPrompt();
    await server.elicitInput(form({}));
    expect(asked(session, "select")).toHaveLength(21);
  });

  test("has at most three questions that wait", async () => {
    const waiting: ((answer: undefined) => void)[] = [];
    const { server } = await openServer({ select: () => new Promise((resolve) => waiting.push(resolve)) });
    const answers = Array.from({ length: 5 }, () => server.elicitInput(form({})));
    const declined = await Promise.race(answers.slice(3));
    expect(declined).toEqual({ action: "decline" });
    expect(waiting).toHaveLength(3);
    for (const answer of waiting) answer(undefined);
    await Promise.all(answers);
  });

  test("can be silenced", async () => {
    const { server, session } = await openServer({ select: choosing("Decline, and block this server") });
    await server.elicitInput(form({}));
    expect(await server.elicitInput(form({}))).toEqual({ action: "decline" });
    expect(asked(session, "select")).toHaveLength(1);
  });
});

describe("a page", () => {
  const page = { mode: "url", message: "Pay here", elicitationId: "1" } as const;

  test("is opened where the user says so, its address in the question", async () => {
    const { server, session, opened } = await openServer({ select: choosing("Open") });
    const url = "https://pay.example.com/now?a=1";
    expect(await server.elicitInput({ ...page, url })).toMatchObject({ action: "accept" });
    expect(opened).toEqual([url]);
    const [[title]] = asked(session, "select") as [[string]];
    expect(title).toContain("pay.example.com");
    expect(title).toContain(url);
  });

  test("is not opened otherwise", async () => {
    const { server, opened } = await openServer({ select: choosing("Decline", undefined) });
    expect(await server.elicitInput({ ...page, url: "https://a.example" })).toEqual({ action: "decline" });
    expect(await server.elicitInput({ ...page, url: "https://a.example" })).toEqual({ action: "cancel" });
    expect(opened).toEqual([]);
  });

  test("of another kind than the web's is never opened", async () => {
    const { server, session, opened } = await openServer({});
    expect(await server.elicitInput({ ...page, url: "file:///etc/passwd" })).toEqual({ action: "decline" });
    expect(opened).toEqual([]);
    expect(asked(session, "notify")).toHaveLength(1);
  });
});

describe("without a user", () => {
  test("a server knows that nobody can be asked", async () => {
    const { server } = await openServer(undefined);
    expect(server.getClientCapabilities()).toEqual({ roots: {} });
    await expect(server.elicitInput(form({}))).rejects.toThrow("does not support");
  });
});

test("a server whose entry says so is not told the project's folder", async () => {
  const { server } = await openServer(undefined, false);
  expect(server.getClientCapabilities()).toEqual({});
  await expect(server.listRoots()).rejects.toThrow();
});

test("roots are the project's folder", async () => {
  const { server, session } = await openServer(undefined);
  const { roots } = await server.listRoots();
  expect(roots).toEqual([{ uri: `file://${session.cwd}`, name: session.cwd.split("/").at(-1) }]);
});
