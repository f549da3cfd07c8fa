import type { Wordings } from "./wordings.ts";

export const english: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "by the way «we can't use {lib}», legal won't sign off on it",
        "and «never write to {table}», other teams read from it",
        "«everything in {file} must stay synchronous», the plugin host can't await",
        "oh and «no new dependencies in {mod} please»",
        "«responses have to stay under {num} ms», that's in the contract",
        "«don't touch {file}», it is generated",
        "only thing: «only use {lib} for logging», nothing else gets through audit",
        "dude «{mod} must NEVER print to stdout», it breaks the pipe",
      ],
      preference: [
        "«I prefer small commits, one per {mod} change»",
        "«i'd rather have {lib} style assertions» in the tests",
        "«please keep the comments in {mod} short»",
        "not a fan of classes, «plain functions in {file} if possible»",
      ],
      decision: [
        "ok let's go with «{name} as the name of the new service»",
        "we'll use «{lib} for the date handling»",
        "decided: «{mod} gets its own package»",
      ],
      change: [
        "let's «run the gateway on port {port}» for now=>hmm, {port} is taken on the build boxes, «use {port2} instead»",
        "we'll «call the scheduler class {name}»=>on second thought «rename the scheduler to {name2}»",
        "«the retry limit of the uploader is {num}»=>«bump the uploader's retry limit to {num2}», {num} was too low",
        "«use {lib} for parsing csv»=>scrap {lib}, «we switch to {lib2} for parsing csv»",
      ],
      fact: [
        "fyi «the staging database runs on {host}»",
        "«the customer's tenant id is {ticket}», you'll need it for the repro",
        "for context: «{mod} is owned by the payments team», ask there",
        "«the nightly job in {mod} takes about {num} minutes»",
      ],
      todo: [
        "later «we also need to migrate {table}»",
        "don't forget «to update {file} before the release»",
        "still to do after this: «document {name} in the handbook»",
      ],
    },
    requests: [
      "can you look at why {file} is slow?",
      "add a test for the empty case in {file}",
      "run the tests again",
      "the layout of {file} is odd, tidy it up",
      "explain what {file} does",
      "ok continue",
      "now wire it into {file}",
      "show me the diff of {file}",
    ],
    lookAlikes: [
      "never mind, found it",
      "no problem, take your time",
      "i must say this looks great",
      "haha i can't wait to see it",
      "that was always a mystery to me",
      "why would it never return?",
      "don't worry about that one",
      "i never knew that was in there",
    ],
    answers: [
      "Done. I updated `{file}` and the tests pass.",
      "I cleaned up `{file}`; nothing else had to change.",
      "Fixed the handling of empty input in `{file}`.",
      "I added the missing case to `{file}` and ran the suite.",
    ],
  },
  heldOut: {
    constraint: [
      "one thing our auditors insist on: «{table} stays read-only for this service»",
      "keep in mind «the bundle may not exceed {num} kB», the CDN rejects anything above",
      "«hands off {file}», Maria is rewriting it",
      "whatever you do, «leave the public API of {name} alone»",
      "this ships to phones, so «{mod} has to work without a network»",
      "«avoid {lib}», we got burned by it last year",
      "customers are on old servers, «{name} should still run on node {num}»",
      "«secrets never go into {file}», not even fake ones",
    ],
    preference: [
      "personally «i like tables better than prose in the {mod} report»",
      "my taste: «early returns over nested ifs in {file}»",
      "when you write to me «skip the pleasantries and start with {mod}»",
      "«tabs, not spaces, in {file}»",
    ],
    decision: [
      "alright, final: «we store the sessions in {table}»",
      "I talked to Ana and «{lib} it is for the queue»",
      "«the feature flag will be {mod}», go ahead with that",
    ],
    change: [
      "«the metrics endpoint listens on {port}»=>ops moved things around: «metrics endpoint is on {port2} now»",
      "«name the exporter {name}»=>I don't like {name} any more, «make the exporter {name2}»",
      "«cache entries live for {num} seconds»=>«cache entries should live {num2} seconds, not {num}»",
      "«we deploy the worker with {lib}»=>we dropped {lib} for deploys, «the worker goes out with {lib2} from now on»",
    ],
    fact: [
      "in case it helps, «prod traffic comes in through {host}»",
      "turns out «{ticket} is the same bug»",
      "the guy who wrote {mod} left, «Priya knows {mod} best»",
      "«{file} gets copied to every node by ansible»",
    ],
    todo: [
      "once this works «someone has to clean out {table}»",
      "remind me «that {name} needs a changelog entry»",
      "not today, but «{file} should get split up»",
    ],
  },
};
