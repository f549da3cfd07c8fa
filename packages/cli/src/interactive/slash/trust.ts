import { isNothing, type ProjectUse, projectPlace, projectUse, projectUseLines } from "../../call/project.ts";
import {
  declineTrust,
  hasDeclinedTrust,
  isTrusted,
  type PathGrant,
  pathGrants,
  revokePath,
  trustFolder,
  untrustFolder,
} from "../../call/trust.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askYesOrNo } from "../panels/ask.ts";
import { PickList, showList } from "../panels/pick-list.ts";
import { useSettings } from "./settings.ts";

const later =
  "Compaction settings and the theme change now. Run /reload for extensions, skills and prompts. All other settings change at the next start.";

export const trustCommand: SlashCommand = {
  name: "trust",
  description: "Trust this project: use its settings, extensions, skills and prompt templates",
  argumentHint: "[off|paths]",
  complete: (prefix) => trustWords.filter(({ value }) => value.startsWith(prefix)),
  async run(args, context) {
    const { host, notify } = context;
    const { home, cwd } = host.app;
    if (args === "paths") return showPaths(context);
    if (args !== "" && args !== "off") return notify("Use /trust, /trust off or /trust paths.");
    if (args === "off") {
      const isGone = untrustFolder(cwd, home);
      if (isGone) useSettings(context);
      const fromAbove = isTrusted(cwd, home) ? " A parent folder is still trusted." : "";
      return notify(
        isGone ? `${cwd} is no longer trusted.${fromAbove} ${later}` : `${cwd} was not trusted.${fromAbove}`,
      );
    }
    if (isTrusted(cwd, home)) return notify(`${cwd} is already trusted. Use /trust off to stop trusting it.`);
    if (!(await askTrust(context, await projectUse(projectPlace(context.call))))) return;
    useSettings(context);
    notify(`${cwd} is trusted. ${later}`);
  },
};

const trustWords = [
  { value: "off", label: "off", description: "Stop trusting this project" },
  {
    value: "paths",
    label: "paths",
    description: "Show and remove permanent access to paths outside the project",
  },
];

/** Lists the permanent grants, which can be removed. */
async function showPaths({ host, screen, notify }: InteractiveContext): Promise<void> {
  const { home, cwd } = host.app;
  const grants = () => pathGrants(cwd, home);
  if (grants().length === 0)
    return notify("No paths outside this project are allowed permanently, except those in paths.allow.");
  await showList<PathGrant, void>(screen, (done) => {
    const list: PickList<PathGrant> = new PickList<PathGrant>({
      place: screen,
      title: "Paths outside this project that are always allowed",
      items: grants(),
      row: ({ folder, access }) => ({
        label: folder,
        detail: access === "read" ? "read" : "read and write",
      }),
      empty: "No paths left.",
      picks: "close",
      onPick: () => done(undefined),
      onCancel: () => done(undefined),
      actions: [
        {
          key: "delete",
          does: "remove",
          run(grant) {
            if (grant !== undefined) revokePath(grant, home);
            list.setItems(grants());
          },
        },
      ],
    });
    return list;
  });
}

/**
 * Asks about a project that brings what needs trust and was never trusted, before any of it is used. A no is
 * remembered; who leaves the question is asked again at the next start.
 */
export async function askAtStart(context: InteractiveContext): Promise<void> {
  const { cwd, home } = projectPlace(context.call);
  if (isTrusted(cwd, home) || hasDeclinedTrust(cwd, home)) return;
  const use = await projectUse(projectPlace(context.call));
  if (!isNothing(use) && (await askTrust(context, use)) === false) declineTrust(cwd, home);
}

/** Shows the project's parts and asks. @returns true if the project is trusted now; undefined without an answer */
async function askTrust(context: InteractiveContext, use: ProjectUse): Promise<boolean | undefined> {
  const { screen, home, call } = context;
  const { cwd } = call.io;
  const isSure = await askYesOrNo(screen, {
    title: "Trust this project?",
    message: [
      cwd,
      "",
      isNothing(use)
        ? "It has no settings, extensions or similar yet. Bonsai will use them once they exist."
        : "Bonsai will use these files. Extensions and MCP servers are programs that run with your rights:",
      ...projectUseLines(use, cwd).map((line) => `  ${line}`),
    ].join("\n"),
    // At the start, the user may be typing already.
    typeThrough: (data) => screen.typeThrough(data),
  });
  if (isSure === true) trustFolder(cwd, home);
  return isSure;
}
