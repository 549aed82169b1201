//===- RunProgram.h - runs a compiled program for `run` ---------*- C++ -*-===//
//
// `spmdc run` and `spmd-run` parse options and load or compile an artifact. From there on both call runProgram: start
// processes or join a job, build inputs, run, time, write results, and turn errors into one line and an exit status.
//
// runProgram creates one object of each class below, from top to bottom, and destroys them from bottom to top. A class
// refers only to the ones above it:
//
//     PreparedRun      options, environment, artifact, checked names: what this process knows before it joins
//     RunReporter      log, report, profile, progress: everything that the run tells the user and the launcher
//     JobSession       joins the job, owns it, and serves its metrics
//     RunTermination   the end by an error, a signal or a verdict, and the request to stop after a step
//     StepLoop         inputs, the loaded program and results; feeds batches, carries values, saves checkpoints, times
//                      calls. It exists from the join on.
//
// A launcher has no job and no loop: launchProcesses (ProcessLaunch.h) starts the processes instead.
//
// Three threads use them: the main thread, the thread of signals, and the client's thread, which ends the process if
// the main thread cannot. JobSession::lock() serializes the end of a run and changes of the job.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/runner/RunOptions.h"

namespace spmd {

/// Runs the program, and returns the exit status: 0, 1 (it failed), 2 (the command line was wrong).
int runProgram(RunOptions options, const RunRequest &request);

} // namespace spmd
