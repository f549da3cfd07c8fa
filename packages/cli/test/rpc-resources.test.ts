import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { AgentProject } from "./agent-project.ts";
import { does, rpcWith } from "./rpc-extension.ts";

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A user with a template and a skill, and an extension that tells its commands and brings a template with each session. */
function project(): AgentProject {
  const given = does(
    `ctx.ui.notify(bonsai.getCommands().map((each) => each.source + " " + each.name).join(", "));`,
    `let times = 0;
    bonsai.on("resources_discover", ({ reason }, ctx) => {
      times += 1;
      ctx.ui.notify(reason + " " + times);
      return { promptPaths: [ctx.cwd + "/brought-" + times + ".md"] };
    });`,
  );
  for (const name of ["brought-1", "brought-2"]) write(join(given.cwd, `${name}.md`), `This is ${name}.`);
  write(
    join(given.home, "prompts/review.md"),
    "---\ndescription: Reviews\nargument-hint: <file>\n---\nReview $1.",
  );
  write(
    join(given.home, "skills/pdf/SKILL.md"),
    "---\nname: pdf\ndescription: Works with PDF files\n---\nDo it.",
  );
  return given;
}

test("get_commands lists commands of extensions, templates and skills", async () => {
  const given = project();
  const rpc = rpcWith(given);
  const paths = {
    extension: join(given.cwd, "own.ts"),
    brought: join(given.cwd, "brought-1.md"),
    review: join(given.home, "prompts/review.md"),
    pdf: join(given.home, "skills/pdf/SKILL.md"),
  };
  expect((await rpc.ask({ type: "get_commands" })).data).toMatchObject({
    commands: [
      { name: "do", description: "does it", source: "extension", sourceInfo: { path: paths.extension } },
      {
        ...{ name: "brought-1", description: "This is brought-1.", source: "prompt" },
        sourceInfo: { path: paths.brought, scope: "temporary" },
      },
      {
        ...{ name: "review", description: "Reviews", argumentHint: "<file>", source: "prompt" },
        sourceInfo: { path: paths.review, scope: "user" },
      },
      {
        ...{ name: "skill:pdf", description: "Works with PDF files", source: "skill" },
        sourceInfo: { path: paths.pdf, origin: "top-level" },
      },
    ],
  });
  await rpc.end();
});

test("an extension lists the commands of a prompt, again in another session", async () => {
  const rpc = rpcWith(project());
  const said = () => rpc.lines.flatMap(({ message }) => (typeof message === "string" ? [message] : []));
  await rpc.ask({ type: "prompt", message: "/do" });
  expect(said()).toEqual(["startup 1", "extension do, prompt brought-1, prompt review, skill skill:pdf"]);
  await rpc.ask({ type: "new_session" });
  await rpc.ask({ type: "prompt", message: "/do" });
  expect(said().slice(2)).toEqual([
    "startup 2",
    "extension do, prompt brought-2, prompt review, skill skill:pdf",
  ]);
  await rpc.end();
});
