import { defineTool, type ExtensionAPI, type ExtensionContext, type Theme } from "@bonsai-agent/extension";
import { z } from "zod";

interface Todo {
  id: number;
  text: string;
  done: boolean;
}

/** To-dos of a folded list. */
const mostFolded = 5;

interface TodoDetails {
  todos: Todo[];
}

/**
 * A to-do list for the agent. The results of its tool store it, so it follows the branch. Compactions keep the open
 * to-dos.
 */
export default function todo(bonsai: ExtensionAPI): void {
  let todos: Todo[] = [];
  const readBranch = (_event: object, ctx: ExtensionContext) => {
    todos = latestTodos(ctx);
  };
  bonsai.on("session_start", readBranch);
  bonsai.on("session_tree", readBranch);

  bonsai.registerTool(
    defineTool({
      name: "todo",
      effects: "idempotent",
      label: "To-do list",
      description:
        "Keeps a to-do list. For a task with several steps, add each step and mark it done as soon as you finish it. If you are unsure about the steps, use the action list. Each result shows the whole list.",
      promptSnippet: "Keep a to-do list for work with several steps.",
      parameters,
      // Parallel calls would overwrite each other.
      executionMode: "sequential",
      execute: async (
        _toolCallId,
        change,
      ): Promise<{ content: [{ type: "text"; text: string }]; details: TodoDetails }> => {
        todos = changed(todos, change);
        return { content: [{ type: "text", text: listed(todos) }], details: { todos } };
      },
      renderResult: ({ details }, { expanded }, theme) =>
        // A failed call has no list.
        details?.todos === undefined ? undefined : { render: () => drawn(details.todos, expanded, theme) },
    }),
  );

  bonsai.on("session_before_compact", () => {
    const open = todos.filter(({ done }) => !done).map(({ id, text }) => `#${id} ${text}`);
    return open.length === 0 ? undefined : { carryOver: { "open-todos": open } };
  });

  bonsai.registerCommand("todos", {
    description: "Show the agent's to-do list",
    handler: (_args, ctx) => ctx.ui.notify(listed(todos)),
  });
}

/** Flat: providers refuse a union at the top of a schema. */
const parameters = z.object({
  action: z.enum(["add", "done", "reopen", "remove", "list", "clear"]),
  texts: z.array(z.string().min(1)).optional().describe("For add: one text for each new to-do."),
  ids: z.array(z.number().int()).optional().describe("For done, reopen and remove: the ids of the to-dos."),
});

type Change = z.output<typeof parameters>;

function changed(todos: readonly Todo[], { action, texts = [], ids = [] }: Change): Todo[] {
  switch (action) {
    case "list":
      return [...todos];
    case "clear":
      return [];
    case "add":
      return [...todos, ...added(todos, texts)];
    case "remove":
      return todos.filter(({ id }) => !known(todos, ids).includes(id));
    default: {
      const meant = known(todos, ids);
      return todos.map((each) => (meant.includes(each.id) ? { ...each, done: action === "done" } : each));
    }
  }
}

function added(todos: readonly Todo[], texts: readonly string[]): Todo[] {
  if (texts.length === 0) throw new Error("add requires texts.");
  const first = Math.max(0, ...todos.map(({ id }) => id)) + 1;
  return texts.map((text, at) => ({ id: first + at, text, done: false }));
}

function known(todos: readonly Todo[], ids: readonly number[]): readonly number[] {
  const unknown = ids.filter((id) => !todos.some((each) => each.id === id));
  if (ids.length > 0 && unknown.length === 0) return ids;
  const problem =
    ids.length === 0
      ? "ids is missing. Give the ids of the to-dos."
      : `Unknown to-do id: ${unknown.join(", ")}.`;
  throw new Error(`${problem}\n${listed(todos)}`);
}

function listed(todos: readonly Todo[]): string {
  if (todos.length === 0) return "The to-do list is empty.";
  return todos.map(({ id, text, done }) => `[${done ? "x" : " "}] #${id} ${text}`).join("\n");
}

/** A folded list shows the open to-dos. */
function drawn(todos: readonly Todo[], isWhole: boolean, theme: Theme): string[] {
  const open = todos.filter(({ done }) => !done);
  const shown = isWhole ? todos : open.slice(0, mostFolded);
  const left = open.length - shown.length;
  return [
    theme.fg("muted", `${todos.length - open.length} of ${todos.length} done`),
    ...shown.map(({ id, text, done }) =>
      done
        ? `${theme.fg("success", "✓")} ${theme.fg("dim", `#${id} ${text}`)}`
        : `○ ${theme.fg("accent", `#${id}`)} ${text}`,
    ),
    ...(left > 0 ? [theme.fg("dim", `… ${left} more`)] : []),
  ];
}

/** The list in the latest result on this branch. Summarised results count too. */
function latestTodos({ sessionManager }: ExtensionContext): Todo[] {
  const results = sessionManager
    .getBranch()
    .flatMap((entry) => (entry.type === "message" ? [entry.message] : []))
    .filter((message) => message.role === "toolResult" && message.toolName === "todo" && !message.isError);
  const details = (results.at(-1) as { details?: TodoDetails } | undefined)?.details;
  return details?.todos ?? [];
}
