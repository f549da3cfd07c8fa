import type { CompactionResult } from "@bonsai-agent/compaction";
import { type Line, span } from "./line.ts";
import { count, counted, usd } from "./numbers.ts";
import type { PlanPicture } from "./plan-picture.ts";
import { planView } from "./plan-view.ts";
import { wrap } from "./text-width.ts";

export interface CompactViewOptions {
  result: CompactionResult;
  picture: PlanPicture;
  /** The file that was, or would be, written to. */
  file: string;
  width: number;
}

/** What a compaction did or would do. */
export function* compactView(options: CompactViewOptions): Generator<Line> {
  const { result, picture, width } = options;
  if (result.status !== "planned" && result.status !== "compacted") {
    yield* wrap(result.detail, width).map((line) => [line]);
    return;
  }
  yield headline(options);
  yield [];
  yield* planView({ picture, width });
  if (result.status === "compacted") yield* written(options);
}

function headline({ result }: CompactViewOptions): Line {
  const sizes = `${count(result.tokensBefore)} → ${counted(result.tokensAfter, "token")}`;
  if (result.status === "planned")
    return [span("Plan", ["bold", "green"]), `  ${sizes}`, span("  (nothing is written)", "gray")];
  return [span("Compacted", ["bold", "green"]), `  ${sizes}`];
}

function* written({ result, file }: CompactViewOptions): Generator<Line> {
  const { requests, costUsd } = result;
  yield [];
  yield [
    "Written to ",
    span(file, "cyan"),
    ` as ${result.entryId}`,
    requests > 0 && costUsd > 0 ? ` for ${usd(costUsd)}` : "",
  ];
  yield [span("`bonsai undo` takes it back; nothing is lost from the file.", "gray")];
}
