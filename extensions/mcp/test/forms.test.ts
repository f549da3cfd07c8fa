import { expect, test } from "vitest";
import { asked, choosing, form, openServer, steersTerminal } from "./asking-server.ts";

test("the user fills in a form field by field, each is checked by its schema", async () => {
  await using asker = await openServer({
    ui: {
      select: choosing("Fill", "yes", "Red", "[ ] b", "Done", "Send"),
      input: ["nobody", "me@example.com", "2.5", "200", "7", "2026-02-31", "2026-02-28"],
    },
  });
  const fields = form(
    {
      mail: { type: "string", title: "Mail", format: "email" },
      age: { type: "integer", minimum: 1, maximum: 100 },
      born: { type: "string", format: "date" },
      sure: { type: "boolean" },
      colour: { type: "string", oneOf: [{ const: "#f00", title: "Red" }] },
      several: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1 },
    },
    ["mail", "age"],
  );
  expect(await asker.server.elicitInput(fields)).toEqual({
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
  const titles = asked(asker.session, "input").map(([title]) => title);
  expect(titles[0]).toBe("MCP server asker: Mail *\nEnter an email address.");
  expect(titles[1]).toBe("MCP server asker: Mail *\nInvalid: nobody. Enter an email address.");
  expect(titles[3]).toContain("Invalid: 2.5. Enter a whole number, at least 1, at most 100.");
});

test("a list of choices names its bounds until the choice fits", async () => {
  await using asker = await openServer({
    ui: { select: choosing("several", "Done", "[ ] a", "Done", "Send") },
  });
  const fields = form({
    several: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1 },
  });
  const answer = await asker.server.elicitInput(fields);
  expect(answer).toEqual({ action: "accept", content: { several: ["a"] } });
  expect(asked(asker.session, "select")[2]![0]).toContain("Choose at least 1.");
});

test("a form with defaults can be sent unchanged", async () => {
  await using asker = await openServer({ ui: { select: choosing("Send") } });
  const fields = form({ name: { type: "string", default: "Ann" }, on: { type: "boolean", default: false } }, [
    "name",
  ]);
  expect(await asker.server.elicitInput(fields)).toEqual({
    action: "accept",
    content: { name: "Ann", on: false },
  });
  const [[title, options] = []] = asked(asker.session, "select");
  expect(title).toBe("MCP server asker asks:\nWho are you?");
  expect(options).toContain("  name *: Ann");
});

test("a form without a required value cannot be sent", async () => {
  await using asker = await openServer({ ui: { select: choosing(undefined) } });
  const answer = await asker.server.elicitInput(form({ name: { type: "string" } }, ["name"]));
  expect(answer).toEqual({ action: "cancel" });
  expect(asked(asker.session, "select")[0]![1]).not.toContain("Send");
});

test("declining a form and leaving it are two answers", async () => {
  await using asker = await openServer({ ui: { select: choosing("Decline", undefined) } });
  expect(await asker.server.elicitInput(form({}))).toEqual({ action: "decline" });
  expect(await asker.server.elicitInput(form({}))).toEqual({ action: "cancel" });
});

test("a form cannot steer the terminal or add options", async () => {
  await using asker = await openServer({ ui: { select: choosing(undefined) } });
  await asker.server.elicitInput({
    message: "\u001b[2JHello\u202e",
    requestedSchema: {
      type: "object",
      properties: { a: { type: "string", title: "A\nSend\u001b[31m", default: "x\ny" } },
    },
  });
  const [[title, options] = ["", []]] = asked(asker.session, "select");
  expect(steersTerminal(title)).toBe(false);
  expect(options.some((option) => steersTerminal(option) || option.includes("\n"))).toBe(false);
  expect(options.filter((option) => option === "Send")).toHaveLength(1);
});

test.each(["cancels", "dies"])("a form closes when its server %s", async (end) => {
  const closed = Promise.withResolvers<void>();
  const cancel = new AbortController();
  await using asker = await openServer({
    ui: {
      select: (_title, _options, { signal } = {}) => {
        if (end === "dies") void asker.server.close();
        else cancel.abort();
        return new Promise((resolve) =>
          signal?.addEventListener("abort", () => {
            closed.resolve();
            resolve(undefined);
          }),
        );
      },
    },
  });
  await expect(asker.server.elicitInput(form({}), { signal: cancel.signal })).rejects.toThrow();
  await closed.promise;
});
