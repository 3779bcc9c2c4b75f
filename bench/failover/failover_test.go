package failover

import (
	"fmt"
	"testing"
	"time"

	"github.com/hustings/hustings/bench/etcd"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/ours"
	"go.etcd.io/raft/v3"
)

func TestX(t *testing.T) {
	o := Library[ours.Message]{detection, ours.Default(detection).Found}
	show(t, o, 2000)
}
func TestY(t *testing.T) {
	show(t, etcdLibrary((*raft.RawNode).Step), 500)
}
func etcdLibrary[M any](step func(*raft.RawNode, M) error) Library[M] {
	return Library[M]{detection, etcd.Found(step, detection/10)}
}
func show[M any](t *testing.T, o Library[M], n int) {
	for _, s := range Scenarios() {
		var took []float64
		msgs, cont, split := 0, 0, 0
		began := time.Now()
		for i := range n {
			r, err := run(o, s, uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, r.Took)
			msgs += r.Messages
			if r.Contested {
				cont++
			}
			if r.Split {
				split++
			}
		}
		sum := 0.0
		for _, x := range took {
			sum += x
		}
		fmt.Printf("%-45s mean %.4f p50 %.4f p99 %.4f max %.3f msgs %.1f cont %.2f%% split %.2f%%  %v/trial\n", s, sum/float64(n), measure.Quantile(took, .5), measure.Quantile(took, .99), measure.Quantile(took, 1), float64(msgs)/float64(n), 100*float64(cont)/float64(n), 100*float64(split)/float64(n), time.Since(began)/time.Duration(n))
	}
}
