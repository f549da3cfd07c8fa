import { readSummary } from "@bonsai-agent/messages/host";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { BeforeCompactResult } from "../src/events.ts";
import {
  compactionSettings,
  digestSummariser,
  navigateTree,
  pinMessage,
  runCompaction,
  type Summariser,
  summarisePreparation,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { END, FORGED, JOINT, marksIn } from "./forged-marks.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });

function pinned(session: Session, text: string): void {
  session.append({ type: "custom_message", ...pinMessage(session, text) });
}

const stored: readonly [by: string, (forged: string) => object][] = [
  [
    "pi",
    (forged) => ({
      summary: `${forged}\n## Goal\nOld.\n\n<read-files>\nr.ts\n</read-files>`,
      details: { readFiles: ["r.ts"], modifiedFiles: [] },
    }),
  ],
  [
    "pi, without details",
    (forged) => ({ summary: `${forged}\n## Goal\nOld.\n\n<read-files>\nr.ts\n</read-files>` }),
  ],
  ["an extension", (forged) => ({ summary: `${forged}\nOld.`, fromHook: true, details: { x: 1 } })],
  [
    "an old version",
    (forged) => ({
      summary: `[Record]\n${forged}\nOld.\n\n${END}`,
      details: {
        prose: `${forged}\nOld.\n${forged}`,
        readFiles: ["r.ts"],
        modifiedFiles: [],
        recentFiles: ["r.ts"],
      },
    }),
  ],
];

/** Everything of the entry but what the user and the tools did, which is data. */
function written(entry: CompactionEntry | undefined): string {
  const { latestRequest: _request, pinned: _pinned, ...others } = entry!.details as Record<string, unknown>;
  const { record: _record, closings: _closings, ...details } = others;
  const texts: string[] = [];
  JSON.stringify(details, (_key, value) => {
    if (typeof value === "string") texts.push(value);
    return value;
  });
  return texts.join("\n").replace(`\n\n---\n\n${JOINT}\n\n`, "\n\n");
}

/** The prose between the frame and the carry-over, without the joint of a split turn, which Bonsai adds. */
const proseOf = (summary = "") => readSummary(summary).prose.replace(`\n\n---\n\n${JOINT}\n\n`, "\n\n");

function hostileSummariser(forged: string): Summariser {
  const summariser = scriptedSummariser();
  summariser.summarise = async (request) => ({
    text: `${forged}\n${wellFormed(request)}\n${forged}\n\n${request.previousSummary ?? ""}`,
    stopReason: "stop",
  });
  return summariser;
}

test("a model that writes a mark forges nothing, two compactions later neither", () =>
  everyRow(FORGED)(async (forged) => {
    const { session } = history("U:900 A(t1=edit:a.ts) T1 A:900 | U:100 A:100");
    pinned(session, "Never push.");
    for (let round = 0; round < 3; round += 1) {
      const { summary, entry, status } = await runCompaction({
        session,
        settings,
        summariser: hostileSummariser(forged),
      });
      expect(status).toBe("compacted");
      expect(marksIn(proseOf(summary))).toEqual([]);
      expect(marksIn(written(entry))).toEqual([]);
      expect(summary?.match(/<pinned>/g)).toHaveLength(1);
      expect(entry?.details).toMatchObject({ modifiedFiles: ["a.ts"], readFiles: [] });
      expect(entry?.details).toMatchObject({ pinned: ["Never push."] });
      history("U:900 A:900 | U:100 A:100", session);
    }
  }));

test("an extension's summary that contains a mark forges nothing", () =>
  everyRow(FORGED)(async (forged) => {
    const { session, id } = history("U:900 A:900 | U:100 A:100");
    pinned(session, "Never push.");
    const lifecycle = compactionLifecycle();
    const own = {
      summary: `Theirs.\n${forged}`,
      firstKeptEntryId: id("u2"),
      tokensBefore: 1,
      details: { mine: 1 },
    };
    lifecycle.on("session_before_compact", (): BeforeCompactResult => ({ compaction: own }));
    const { summary = "" } = await runCompaction({ session, settings, lifecycle });
    expect(marksIn(proseOf(summary))).toEqual([]);
    expect([...readSummary(summary).carried]).toEqual([["pinned", ["Never push."]]]);
  }));

test("a summary of ours into which an extension writes a mark keeps our marks alone", () =>
  everyRow(FORGED)(async (forged) => {
    const notation =
      "U:900 A(t1=edit:a.ts t3=bash:build_all) T1 T3 A:900 | U:900 A(t2):9000 T2:9000 A:100 A:150";
    const { session } = history(notation);
    pinned(session, "Never push.");
    const lifecycle = compactionLifecycle();
    lifecycle.on("session_before_compact", async ({ preparation }) => {
      const { compaction } = await summarisePreparation({ preparation, summariser: scriptedSummariser() });
      const marked = compaction.summary.replace("## Goal", `${forged}\n## Goal`);
      return { compaction: { ...compaction, summary: `${marked}\n\n${forged}` } };
    });
    const { summary = "", entry } = await runCompaction({ session, settings, lifecycle });
    expect(marksIn(written(entry))).toEqual([]);
    const usual = [
      "[Record of the earlier",
      "[End of the record",
      "<latest-request",
      "</latest-request",
      "<pinned",
      "</pinned",
      "<modified-files",
      "</modified-files",
      "<user-words",
      "</user-words",
      "<terms",
      "</terms",
    ];
    for (const mark of usual) expect(summary.split(mark), mark).toHaveLength(2);
    const others = marksIn(summary).filter((mark) => !/^<\/?user-words$/.test(mark));
    expect(others.filter((mark) => /system|user|compaction|summary/i.test(mark))).toEqual([]);
  }));

test("a branch's summary that contains a mark forges nothing, a model's or an extension's", () =>
  everyRow(FORGED)(async (forged) => {
    for (const isExtension of [true, false]) {
      const { session, id } = history("U:900 A(t1=edit:a.ts) T1 A:900 | U:100 A:100");
      const lifecycle = compactionLifecycle();
      if (isExtension)
        lifecycle.on("session_before_tree", () => ({ summary: { summary: `Theirs.\n${forged}` } }));
      const { summaryEntry } = await navigateTree({
        ...{ session, targetId: id("u1"), settings, summarise: true, lifecycle },
        summariser: hostileSummariser(forged),
      });
      const { prose, carried: data } = readSummary(summaryEntry!.summary);
      expect(marksIn(prose)).toEqual([]);
      const { "user-words": words, terms, ...rest } = Object.fromEntries(data);
      expect(rest).toEqual(isExtension ? {} : { "modified-files": ["a.ts"] });
      // The index leaves out what the list of files names.
      expect([words !== undefined, terms]).toEqual([!isExtension, undefined]);
      expect(marksIn((words ?? []).join("\n"))).toEqual([]);
    }
  }));

test("marks in the prose of a stored summary are prose to the next", () =>
  everyRow(stored)(async ([, fields]) => {
    // Each of these texts has all forged marks, the first one at its beginning.
    for (const forged of [FORGED.join("\n\n"), FORGED.toReversed().join("\n"), FORGED.join(" ")])
      for (const summariser of [digestSummariser(), hostileSummariser("")]) {
        const { session, id } = history("U:900 A | U:9 A");
        session.append({
          type: "compaction",
          firstKeptEntryId: id("u2"),
          tokensBefore: 900,
          ...fields(forged),
        } as never);
        history("A:900 U:4000 A:300 | U:90 A:90", session);
        const { entry, summary, readFiles, status } = await runCompaction({ session, settings, summariser });
        expect(status).toBe("compacted");
        expect(marksIn(proseOf(summary))).toEqual([]);
        expect(marksIn(written(entry))).toEqual([]);
        expect(entry!.details).not.toHaveProperty("pinned");
        expect(readFiles).toEqual("fromHook" in fields("") ? [] : ["r.ts"]);
      }
  }));

test("texts of a user, a tool and a file end no mark of ours", async () => {
  const text = `Mend the door.\n${FORGED.join("\n")}`;
  const { session } = history("U:900 A:900");
  session.append({ type: "message", message: { role: "user", content: text, timestamp: 1 } });
  history("A(t1=edit:x) T1:2000 A(t2) T2:2000 A:100", session);
  const call = session
    .entries()
    .find(
      (entry) =>
        entry.type === "message" &&
        entry.message.role === "assistant" &&
        JSON.stringify(entry).includes("edit"),
    )!;
  expect(call).toBeDefined();
  const { summary = "", entry } = await runCompaction({
    session,
    settings: { ...settings, keepRecentTokens: 100 },
  });
  expect(entry?.details).toMatchObject({ latestRequest: { text } });
  expect(summary.match(/<\/latest-request>/g)).toHaveLength(1);
  expect(summary.match(/\[End of the record/g)).toHaveLength(1);
  expect(summary.match(/<pinned>|^## Kept word for word$/gm)).toHaveLength(1);
  expect(marksIn(proseOf(summary))).toEqual([]);
});
