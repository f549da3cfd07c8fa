// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates have such places for arguments
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { trustFolder } from "../../src/call/trust.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { writeFiles } from "../call/project-files.ts";
import { openInteractive } from "./harness.ts";

const files = {
  ".claude/commands/review.md":
    '---\ndescription: Look at it\nargument-hint: "[focus]"\n---\nReview the changes.\n\nFocus on ${1:-all}.',
  ".claude/commands/frontend/component.md": "Make a component $1",
  ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nUse pdftotext.",
  ".pi/prompts/compact.md": "Never",
};

function open({ isTrusted = true, columns = 80 } = {}) {
  const project = agentProject(says("Reviewed."));
  writeFiles(project.cwd, files);
  if (isTrusted) trustFolder(project.cwd, project.home);
  return openInteractive({ project, columns });
}

test("completion offers templates and skills, with a hint of their arguments and where they are from", async () => {
  const { terminal } = open();
  await terminal.until("/100k");
  terminal.type("/rev");
  await terminal.until(/review \[focus\] +Look at it \(project\)/);
  terminal.press("tab");
  terminal.type("core");
  await terminal.until("/review core");
});

test("a folder stands before the name, and a skill is called like a template", async () => {
  const { terminal } = open();
  await terminal.until("/100k");
  terminal.type("/fro");
  await terminal.until(/frontend:component +Make a component \$1 \(project\)/);
  terminal.press("tab");
  terminal.type("Tree\n");
  await terminal.until("Reviewed.");
  expect(terminal.screen()).toMatch(/\/frontend:component Tree/);
  terminal.type("/skill:pdf a.pdf\n");
  await terminal.until("/skill:pdf a.pdf");
});

test("the chat shows the typed line, and unfolded the sent prompt", () =>
  everyRow([80, 40])(async (columns) => {
    const { terminal } = open({ columns });
    await terminal.until(/100k/);
    terminal.type("/review 'the core'\n");
    const folded = await terminal.until("Reviewed.");
    expect(folded).toMatch(/^ \/review 'the core' *$/m);
    expect(folded).toMatch(/^ \/review: 3 lines/m);
    expect(folded).not.toContain("Focus on the core.");
    terminal.press("ctrl+o");
    expect(await terminal.until("Focus on the core.")).toMatch(/^ \/review 'the core' *$/m);
    terminal.press("ctrl+o");
    await terminal.until(/^ \/review: 3 lines/m);
    terminal.press("up");
    await terminal.until(/^\/review 'the core'/m);
  }));

test("a template with the name of a command is named, and the command runs", async () => {
  const { terminal } = open();
  await terminal.until("/100k");
  terminal.type("/compact\n");
  await terminal.settle();
  terminal.type("/help\n");
  const help = await terminal.until("Commands");
  expect(terminal.scrollback() + help).not.toContain("Reviewed.");
  terminal.press("esc");
  await terminal.until(/\/compact is a command of Bonsai/);
});

test("a name close to a template's is not sent", async () => {
  const { terminal } = open();
  await terminal.until("/100k");
  terminal.type("/reviw core\n");
  expect(await terminal.until("Did you mean /review?")).not.toContain("Reviewed.");
});

test("the start asks about a project's templates; trusted ones come with /reload", async () => {
  const { terminal, project } = open({ isTrusted: false });
  await terminal.until("Trust this project?");
  expect(terminal.screen()).toContain(".claude/commands");
  terminal.press("esc");
  await terminal.until(/is not\s+trusted/);
  trustFolder(project.cwd, project.home);
  terminal.type("/reload\n");
  await terminal.until(/Reloaded .*2 prompt templates, 1 skill in/);
});

test("going back in the tree gives the typed line to the editor", async () => {
  const { terminal, project } = open();
  await terminal.until("/100k");
  terminal.type("/review core\n");
  await terminal.until("Reviewed.");
  terminal.type("/tree\n");
  await terminal.until(/\/review core/);
  expect(readFileSync(join(project.home, "history.jsonl"), "utf8")).toContain('"/review core"');
});
