import type { LanguageModelMiddleware } from "ai";

type WrapStream = NonNullable<LanguageModelMiddleware["wrapStream"]>;
type StreamResult = Awaited<ReturnType<WrapStream>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

/** Parts that come before any output. */
const OPENING_PARTS: ReadonlySet<string> = new Set([
  "stream-start",
  "response-metadata",
  "raw",
  "text-start",
  "reasoning-start",
]);

/** A stream that failed before any output. */
export interface FailedStream {
  error: unknown;
  /** The stream as it came, for a caller that cannot recover. */
  failed?: StreamResult;
}

/** Reads a stream up to its first output. Some providers send a refusal as its first part. */
export async function openStream(result: StreamResult): Promise<StreamResult | FailedStream> {
  const reader = result.stream.getReader();
  const parts: StreamPart[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (value !== undefined) parts.push(value);
    if (!done && OPENING_PARTS.has(value.type)) continue;
    const opened = { ...result, stream: resumed(parts, reader) };
    return value?.type === "error" ? { error: value.error, failed: opened } : opened;
  }
}

/** A stream of the read parts, and of the rest. */
function resumed(
  parts: readonly StreamPart[],
  reader: ReadableStreamDefaultReader<StreamPart>,
): ReadableStream<StreamPart> {
  return new ReadableStream<StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
