import type { ModelSizes } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { leafOf, openNamedSession } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { contextReport } from "../views/context-report.ts";
import { contextItemTable, contextReportView } from "../views/context-view.ts";
import { type Line, paragraph } from "../views/line.ts";
import { counted } from "../views/numbers.ts";

/** Prints the context at the leaf or at `--leaf`: each message, then where the tokens of the next request go. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output } = invocation;
  const { width, wantsJson } = output;
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const settings = callSettings(invocation);
  const model = wantsJson ? undefined : await latestModel(session, leafId, invocation);
  const report = contextReport({ session, leafId, settings, model, nowMs: io.now() });
  const { items, totalTokens } = report;
  await output.list(
    () => items,
    function* (): Generator<Line> {
      if (items.length > 0) yield* [...contextItemTable(items, width), []];
      yield* paragraph(`${counted(items.length, "item")} at ${leafId ?? "the beginning"}`, width, "bold");
      if (totalTokens > 0) yield* contextReportView(report, width, { largest: 0 });
    },
  );
}

/** The model of the latest answer; undefined if the catalogue does not list it. */
async function latestModel(
  session: Session,
  leafId: string | null,
  { io, output }: Invocation,
): Promise<ModelSizes | undefined> {
  const latest = session.projection(leafId).items.findLast(({ message }) => message.role === "assistant");
  if (latest?.message.role !== "assistant") return undefined;
  const { provider, model: id } = latest.message;
  const { knownCatalogue } = await import("../call/page-source.ts");
  const { models } = await knownCatalogue(io, (notice) => output.notify(notice));
  return models.find((each) => each.provider === provider && each.id === id);
}
