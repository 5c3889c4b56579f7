// Package view tells what of this machine a run sees: where its paths lead
// there, which links of a project lead to what it does not see, and which
// folders its engine cannot show it. All of it is about a local engine.
package view
